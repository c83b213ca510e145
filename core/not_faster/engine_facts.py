"""What an engine's log, metrics or recorded run say of its graphs, from what readers found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.diagnose import Cause
from core.engines.check import CheckReport
from core.logs.record import EngineLog
from core.not_faster.known import EngineFacts, Replays
from core.readers.reading import Reading

GRAPHS_OFF = "graphs-off"


def engine_facts(
    reading: Reading,
    causes: tuple[Cause, ...] = (),
    report: CheckReport | None = None,
) -> EngineFacts:
    """From a reading and, where there are any, the failures that were found in the text.

    causes : of core.diagnose; report : of core.engines.check, for a start-up log
    """
    facts = reading.facts
    off, fix = _off(reading, report)
    return EngineFacts(
        name=_text(facts.get("engine")),
        off=off,
        fix=fix,
        mode=_text(facts.get("cudagraph_mode")),
        captured=_captured(reading, off),
        stopped=_stopped(reading.log),
        failed=_failed(reading.log),
        out_of_memory=True if facts.get("out_of_memory") else None,
        truncated_to=_whole(facts.get("effective_max")),
        replays=_replays(facts),
        graph_gib=_number(facts.get("graph_gib", facts.get("pool_gib"))),
        kv_gib=_number(facts.get("kv_gib")),
        preemptions=_whole(facts.get("preemptions")),
        synchronous=_synchronous(facts),
        step_us=_step_us(facts.get("decode_step_us")),
        causes=causes or None,
    )


def _off(reading: Reading, report: CheckReport | None) -> tuple[str | None, str | None]:
    """In which words graphs are off, and what to write instead."""
    finding = next((f for f in report.findings if f.id == GRAPHS_OFF), None) if report else None
    fix = finding.fix if finding else None
    if reading.log is not None and reading.log.off is not None:
        return reading.log.off.value, fix
    if reading.facts.get("cudagraph_mode") == "NONE":
        return "cudagraph_mode NONE", fix
    if reading.facts.get("mode") == "eager":
        return "recorded as an eager run", fix
    return None, None


def _captured(reading: Reading, off: str | None) -> tuple[int, ...] | None:
    if off is not None:
        return ()
    return None if reading.captured is None else reading.captured.sizes


def _stopped(log: EngineLog | None) -> tuple[int, int] | None:
    """A capture that a line says failed: graphs captured and wanted.

    A bar alone does not state it: the log may have been cut, or the bar's last update lost.
    """
    if log is None or log.failed is None or log.finished is not None:
        return None
    bars = [bar for bar in log.bars.values() if not bar.complete and bar.line <= log.failed.line]
    return (bars[-1].done, bars[-1].total) if bars else None


def _failed(log: EngineLog | None) -> str | None:
    failed = log.failed if log is not None and log.finished is None else None
    return failed.where if failed is not None else None


def _replays(facts: Mapping[str, Any]) -> Replays | None:
    graph, eager = facts.get("graph_steps"), facts.get("eager_steps")
    if isinstance(graph, int) and isinstance(eager, int) and graph + eager:
        share = eager / (graph + eager)
        return Replays(share, "vLLM's CUDAGraph Stats", graph + eager)
    graph, eager = facts.get("lines_on_graph"), facts.get("lines_eager")
    if isinstance(graph, int) and isinstance(eager, int) and graph + eager:
        share = eager / (graph + eager)
        return Replays(share, "SGLang's decode lines, a sample", graph + eager, sampled=True)
    percent = _number(facts.get("decode_graph_share_pct"))
    if percent is not None:
        return Replays(1.0 - percent / 100.0, "SGLang's cuda_graph_passes_total")
    return None


def _synchronous(facts: Mapping[str, Any]) -> bool | None:
    asynchronous = facts.get("async_scheduling")
    return not asynchronous if isinstance(asynchronous, bool) else None


def _step_us(times: Any) -> dict[int, float] | None:
    if not isinstance(times, Mapping):
        return None
    found = {
        int(size): float(us)
        for size, us in times.items()
        if str(size).isdecimal() and int(size) > 0 and isinstance(us, (int, float)) and us > 0
    }
    return found or None


def _number(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if good else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
