"""SGLang's decode and prefill lines, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.logs.lines import LogLine
from core.logs.sglang_steps import decode
from core.readers.common.drops import Drops

OTHER_RANK = "the same step on another tensor- or pipeline-parallel rank"
CUT = "line is cut or damaged"
IDLE = "sample without a running request"


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

    def feed(self, line: LogLine) -> None:
        self.rows += 1
        for kind in ("TP", "PP"):
            rank = line.ranks.get(kind)
            if rank is not None and rank != self._rank.setdefault(kind, rank):
                self.drops.add(OTHER_RANK, line.number)
                return
        seen = decode(line.message)
        if seen is None:
            self.drops.add(CUT, line.number)
            return
        if seen.requests == 0:
            self.drops.add(IDLE, line.number)
            return
        self.sizes[seen.requests] += 1
        self.on_graph += seen.graph is True
        self.eager += seen.graph is False
        self.accepted = max(self.accepted, seen.accepted or 0.0)
        if seen.tokens_per_s is not None and len(self.rates) < 100_000:
            self.rates.append(seen.tokens_per_s)
        if line.time:
            self.times = [self.times[0] if self.times else line.time, line.time]

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

    def feed(self, tokens: int | None) -> None:
        """Tokens of a line; None for one that is cut."""
        if tokens is not None and (tokens in self.tokens or len(self.tokens) < 20_000):
            self.tokens[tokens] += 1

    def facts(self) -> dict[str, Any]:
        if not self.tokens:
            return {}
        steps = {str(size): n for size, n in sorted(self.tokens.items()) if size > 0}
        return {"prefill_lines": self.tokens.total(), "prefill_steps": steps}
