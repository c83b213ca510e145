"""SGLang's log lines: decode and prefill batches, and captures of all three shapes.

"GB" in these lines is 2**30 bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.readers.common.drops import Drops
from core.readers.common.log_facts import sizes_in

OTHER_RANK = "the same step on another tensor- or pipeline-parallel rank"
CUT = "line is cut or damaged"
IDLE = "sample without a running request"

_HEAD = re.compile(
    r"^(?:\([^()]*\)\s*)?\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)?((?: [A-Z_]+\d+)*)\]\s*"
)
_DECODE = re.compile(
    r"#running-req: (\d{1,9})\b.{0,800}?(?:cuda|cpu|npu|musa|xpu) graph: (True|False)"
)
_DECODE_PLAIN = re.compile(r"#running-req: (\d{1,9})\b.{0,800}?gen throughput")
_RATE = re.compile(r"gen throughput \(token/s\): (\d{1,12}(?:\.\d+)?)")
_ACCEPT = re.compile(r"accept len: (\d{1,6}(?:\.\d+)?)")
_PREFILL = re.compile(r"#new-seq: (\d{1,9}), #new-token: (\d{1,9})")
_CAPTURE = re.compile(
    r"Capture (?P<what>[\w ]{0,40}?)\s{0,4}(?:cuda|CUDA) graph (?P<edge>begin|end|bs|num tokens)\b"
)
_LIST = re.compile(r"(?:bs|num_tokens|num tokens)\s*=?\s*\[([^\]]*)\]")
_FREE = re.compile(r"avail mem=([\d.]{1,12}?)\s*GB")
_USED = re.compile(r"mem usage=(-?[\d.]{1,12}?)\s*GB")
_TIME = re.compile(r"(?:Time elapsed: |elapsed=)([\d.]{1,12}?) s")


def split_head(message: str) -> tuple[str, dict[str, int], str]:
    """(time, {"TP": 0, "DP": 1}, the rest) of a line."""
    match = _HEAD.match(message)
    if match is None:
        return "", {}, message
    ranks = {
        part.rstrip("0123456789"): int(part[len(part.rstrip("0123456789")) :][:6])
        for part in match[2].split()
    }
    return match[1], ranks, message[match.end() :]


@dataclass
class DecodeLines:
    """Decode lines: the batch of one step in `interval`."""

    drops: Drops
    sizes: Counter[int] = field(default_factory=Counter)
    rows: int = 0
    on_graph: int = 0
    eager: int = 0
    accepted: float = 0.0
    rates: list[float] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    _rank: dict[str, int] = field(default_factory=dict)

    def feed(self, number: int, time: str, ranks: dict[str, int], text: str) -> None:
        self.rows += 1
        for kind in ("TP", "PP"):
            if kind in ranks and ranks[kind] != self._rank.setdefault(kind, ranks[kind]):
                self.drops.add(OTHER_RANK, number)
                return
        match = _DECODE.search(text) or _DECODE_PLAIN.search(text)
        if match is None:
            self.drops.add(CUT, number)
            return
        size = int(match[1])
        if size == 0:
            self.drops.add(IDLE, number)
            return
        self.sizes[size] += 1
        if match.re is _DECODE:
            self.on_graph += match[2] == "True"
            self.eager += match[2] == "False"
        accept, rate = _ACCEPT.search(text), _RATE.search(text)
        self.accepted = max(self.accepted, float(accept[1]) if accept else 0.0)
        if rate and len(self.rates) < 100_000:
            self.rates.append(float(rate[1]))
        if time:
            self.times = [self.times[0] if self.times else time, time]

    def facts(self) -> dict[str, Any]:
        if not self.sizes:
            return {}
        lines = self.sizes.total()
        facts: dict[str, Any] = {
            "decode_lines": lines,
            "mean_running": round(sum(s * n for s, n in self.sizes.items()) / lines, 4),
            "max_running": max(self.sizes),
            "lines_on_graph": self.on_graph,
            "lines_eager": self.eager,
        }
        if self.on_graph + self.eager:
            share = 100 * self.on_graph / (self.on_graph + self.eager)
            facts["graph_share_pct"] = round(share, 4)
        if self.rates:
            facts["max_gen_tokens_per_s"] = max(self.rates)
        if self.accepted > 1:
            facts["max_accept_length"] = self.accepted
        return facts

    def duration_s(self) -> float | None:
        if len(self.times) < 2:
            return None
        try:
            first, last = (datetime.fromisoformat(t) for t in self.times)
        except ValueError:
            return None
        seconds = (last - first).total_seconds()
        return seconds if seconds > 0 else None


@dataclass
class PrefillLines:
    """Prefill lines: new tokens of every prefill step."""

    tokens: Counter[int] = field(default_factory=Counter)

    def feed(self, text: str) -> None:
        match = _PREFILL.search(text)
        if match and (int(match[2]) in self.tokens or len(self.tokens) < 20_000):
            self.tokens[int(match[2])] += 1

    def facts(self) -> dict[str, Any]:
        if not self.tokens:
            return {}
        steps = {str(size): n for size, n in sorted(self.tokens.items()) if size > 0}
        return {"prefill_lines": self.tokens.total(), "prefill_steps": steps}


@dataclass
class Captures:
    """Captures by rank and kind: sizes, seconds, memory before, taken and after."""

    found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def feed(self, ranks: dict[str, int], text: str) -> None:
        match = _CAPTURE.search(text)
        if match is None:
            return
        what, edge = " ".join(match["what"].lower().split()), match["edge"]
        if edge in ("bs", "num tokens"):
            what = "piecewise" if edge == "num tokens" else what
        rank = " ".join(f"{kind}{n}" for kind, n in ranks.items())
        if len(self.found) > 256:
            return
        item = self.found.setdefault((rank, what or "decode"), {"rank": rank})
        item["kind"] = what or "decode"
        rest = text[match.start() :]
        if sizes := _LIST.search(rest):
            item["sizes"] = list(sizes_in(sizes[1]))
        free, used, time = _FREE.search(rest), _USED.search(rest), _TIME.search(rest)
        if free:
            key = "avail_before_gib" if edge == "begin" else "avail_after_gib"
            item[key] = _float(free[1])
        if used:
            item["mem_gib"] = _float(used[1])
        if time:
            item["elapsed_s"] = _float(time[1])

    def finish(self) -> list[dict[str, Any]]:
        """One dictionary a capture; `consistent`: before - after is what it took."""
        for item in self.found.values():
            before, after = item.get("avail_before_gib"), item.get("avail_after_gib")
            taken = item.get("mem_gib")
            if before is not None and after is not None and taken is not None:
                item["consistent"] = abs(before - after - taken) < 0.015
        return list(self.found.values())

    @property
    def decode_sizes(self) -> tuple[int, ...]:
        for (_, kind), item in self.found.items():
            decodes = "draft" not in kind and kind.split()[-1] in ("decode", "verify")
            if decodes and item.get("sizes"):
                return tuple(item["sizes"])
        return ()


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
