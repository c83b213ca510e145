"""What an engine's log, metrics or recorded run say of its graphs, from what readers found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.diagnose import Cause
from core.engines.check import CheckReport
from core.not_faster.known import EngineFacts, Replays
from core.readers.reading import Reading

GRAPHS_OFF = "graphs-off"
SYNCHRONOUS = "Asynchronous scheduling is disabled"
ASYNCHRONOUS = "Asynchronous scheduling is enabled"
OFF_WORDS = ("Cuda Graphs are disabled", "disable_cuda_graph=True")
ENGINE_OF_FORMAT = {
    "vllm-log": "vllm",
    "sglang-log": "sglang",
    "trtllm-log": "trtllm",
    "tgi-log": "tgi",
    "lmdeploy-log": "lmdeploy",
    "minisglang-log": "minisglang",
    "fastdeploy-log": "fastdeploy",
}
"""Reader of a log -> the engine whose rules explain it."""


def engine_facts(
    reading: Reading,
    text: str = "",
    causes: tuple[Cause, ...] = (),
    report: CheckReport | None = None,
) -> EngineFacts:
    """From a reading and, where there are any, the text itself and what was found in it.

    causes : of core.diagnose; report : of core.engines.check, for a start-up log
    """
    facts = reading.facts
    off, fix = _off(facts, text, report)
    return EngineFacts(
        name=_text(facts.get("engine")),
        off=off,
        fix=fix,
        mode=_text(facts.get("cudagraph_mode")),
        captured=_captured(reading, off),
        stopped=_stopped(facts),
        out_of_memory=True if facts.get("out_of_memory") else None,
        truncated_to=_whole(facts.get("effective_max")),
        replays=_replays(facts),
        graph_gib=_number(facts.get("graph_gib", facts.get("pool_gib"))),
        kv_gib=_number(facts.get("kv_gib")),
        preemptions=_whole(facts.get("preemptions")),
        synchronous=_synchronous(text),
        step_us=_step_us(facts.get("decode_step_us")),
        causes=causes or None,
    )


def _off(
    facts: Mapping[str, Any], text: str, report: CheckReport | None
) -> tuple[str | None, str | None]:
    """In which words graphs are off, and what to write instead."""
    finding = next((f for f in report.findings if f.id == GRAPHS_OFF), None) if report else None
    fix = finding.fix if finding else None
    if facts.get("enforce_eager") in ("True", True):
        return "enforce_eager=True", fix
    if facts.get("cudagraph_mode") == "NONE":
        return "cudagraph_mode NONE", fix
    if facts.get("mode") == "eager":
        return "recorded as an eager run", fix
    words = next((words for words in OFF_WORDS if words in text), None)
    if words is None and finding is not None:
        words = finding.text.rstrip(".")
    return words, fix


def _captured(reading: Reading, off: str | None) -> tuple[int, ...] | None:
    if off is not None:
        return ()
    return None if reading.captured is None else reading.captured.sizes


def _stopped(facts: Mapping[str, Any]) -> tuple[int, int] | None:
    """A progress bar that did not end, unless a later line says that capturing did."""
    done, total = facts.get("capture_done"), facts.get("capture_total")
    if not isinstance(done, int) or not isinstance(total, int) or "capture_s" in facts:
        return None
    return (done, total)


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


def _synchronous(text: str) -> bool | None:
    if SYNCHRONOUS in text:
        return True
    return False if ASYNCHRONOUS in text else None


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
