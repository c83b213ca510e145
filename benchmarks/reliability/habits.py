"""What visitors do: edit bucket sets, tour the pages, bring files."""

from __future__ import annotations

import random

import numpy as np

from benchmarks.reliability.processes import ROOT
from benchmarks.reliability.visitor import Change
from benchmarks.reliability.wire import Run, Tab

PAGES = sorted(path.stem for path in (ROOT / "app" / "app_pages").glob("[a-z]*.py"))
START = "workload"
"""The page whose address is empty."""


class BucketHabit:
    """Opens a trace on the Buckets page, and edits the sets that are compared."""

    page = "buckets"

    def __init__(self, load_factor: float | None = None) -> None:
        """load_factor : replays the example so many times as fast: traffic of one's own"""
        self.query = "example=1" + (f"&load={load_factor:g}" if load_factor else "")

    async def begin(self, tab: Tab, draw: random.Random) -> Run:
        return await tab.load()

    def next(self, draw: random.Random) -> Change:
        """Another number of graphs, or another list of one's own beside two engines."""
        if draw.random() < 0.5:
            count = draw.randint(2, 60)
            sets = ["vllm", "Powers of two", "Best possible"]
            values = {"best_k": count, "sets": sets}
            return Change(values, "padding", f"Best possible, K={count}: ")
        sizes = sorted(draw.sample(range(1, 257), draw.randint(4, 24)))
        values = {
            "own_sizes": ", ".join(map(str, sizes)),
            "sets": ["vllm", "My list", "Best possible"],
        }
        return Change(values, "padding", f"My list: {len(sizes)} graphs")


class TourHabit:
    """Opens any page with the example, and changes the assumed step cost in its sidebar."""

    query = "example=1"

    def __init__(self, draw: random.Random) -> None:
        page = draw.choice(PAGES)
        self.page = "" if page == START else page

    async def begin(self, tab: Tab, draw: random.Random) -> Run:
        return await tab.load()

    def next(self, draw: random.Random) -> Change:
        return Change({"cost_step_us": float(draw.randint(2000, 9000))})


class UploadHabit:
    """Brings a trace of 20,000 requests, and replays it faster or slower."""

    page = query = ""

    async def begin(self, tab: Tab, draw: random.Random) -> Run:
        await tab.load()
        return await tab.upload("upload", "trace.csv", trace_csv(draw.randrange(2**32)))

    def next(self, draw: random.Random) -> Change:
        return Change({"load_factor": draw.uniform(0.2, 3.0)}, "steps")


class BareHabit:
    """Changes the one number of the bare page."""

    page = query = ""

    async def begin(self, tab: Tab, draw: random.Random) -> Run:
        return await tab.load()

    def next(self, draw: random.Random) -> Change:
        number = draw.randint(2, 99)
        return Change({"n": number}, "chart", f"n = {number}")


def trace_csv(seed: int, requests: int = 20_000) -> bytes:
    """A trace that nobody else brings: arrivals and lengths."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(0.2, requests))
    lengths = rng.integers(1, 900, (2, requests))
    lines = zip(arrivals.tolist(), *lengths.tolist(), strict=True)
    rows = "".join(f"{at:.3f},{prompt},{output}\n" for at, prompt, output in lines)
    return b"arrival_s,prompt_tokens,output_tokens\n" + rows.encode()
