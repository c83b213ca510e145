"""SGLang's captures by rank and kind: sizes, seconds, memory before, taken and after."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from core.logs.lines import LogLine
from core.logs.rules import sizes_in

_CAPTURE = re.compile(
    r"Capture (?P<what>[\w ]{0,40}?)\s{0,4}(?:cuda|CUDA) graph (?P<edge>begin|end|bs|num tokens)\b"
)
_LIST = re.compile(r"(?:bs|num_tokens|num tokens)\s*=?\s*\[([^\]]*)\]")
_FREE = re.compile(r"avail mem=(\d{1,9}(?:\.\d{1,9})?)\s*GB")
_USED = re.compile(r"mem usage=(-?\d{1,9}(?:\.\d{1,9})?)\s*GB")
_TIME = re.compile(r"(?:Time elapsed: |elapsed=)(\d{1,9}(?:\.\d{1,9})?) s")
MOST = 256


@dataclass
class Captures:
    """Feed it every message."""

    found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def feed(self, line: LogLine) -> bool:
        """Whether the message is about a capture."""
        match = _CAPTURE.search(line.message)
        if match is None or len(self.found) > MOST:
            return False
        what, edge = " ".join(match["what"].lower().split()), match["edge"]
        if edge in ("bs", "num tokens"):
            what = "piecewise" if edge == "num tokens" else what
        rank = " ".join(f"{kind}{n}" for kind, n in line.ranks.items())
        item = self.found.setdefault((rank, what or "decode"), {"rank": rank})
        item["kind"] = what or "decode"
        _note(item, edge, line.message[match.start() :])
        return True

    def finish(self) -> list[dict[str, Any]]:
        """One dictionary a capture; `consistent`: before - after is what it took."""
        for item in self.found.values():
            before, after = item.get("avail_before_gib"), item.get("avail_after_gib")
            taken = item.get("mem_gib")
            if before is not None and after is not None and taken is not None:
                item["consistent"] = abs(before - after - taken) < 0.015
        return list(self.found.values())


def _note(item: dict[str, Any], edge: str, rest: str) -> None:
    if sizes := _LIST.search(rest):
        item["sizes"] = list(sizes_in(sizes[1]))
    free, used, time = _FREE.search(rest), _USED.search(rest), _TIME.search(rest)
    if free:
        item["avail_before_gib" if edge == "begin" else "avail_after_gib"] = float(free[1])
    if used:
        item["mem_gib"] = float(used[1])
    if time:
        item["elapsed_s"] = float(time[1])


def sums(found: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds and GiB of the first rank's captures together, and what was free after the last."""
    first = [item for item in found if item["rank"] == found[0]["rank"]]
    result = {}
    for name, key in (("capture_s", "elapsed_s"), ("graph_gib", "mem_gib")):
        values = [item[key] for item in first if key in item]
        if values:
            result[name] = round(sum(values), 4)
    free = [item["avail_after_gib"] for item in first if "avail_after_gib" in item]
    if free:
        result["free_gib"] = free[-1]
    return result
