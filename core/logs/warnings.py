"""Sentences about what a log states: graphs off, sizes cut, captures that did not end."""

from __future__ import annotations

from collections.abc import Iterator

from core.logs.record import EngineLog


def log_warnings(log: EngineLog) -> Iterator[str]:
    """What a user should know, each from a line of the log."""
    if log.off is not None:
        yield f"The engine ran eager: it captured no graphs ({log.off.value}, line {log.off.line})."
    for change in log.downgrades:
        asked = f" from {change.value.asked}" if change.value.asked else ""
        yield f"The engine changed its graph mode{asked} to {change.value.mode}: {change.where}."
    for cap in log.caps:
        why = f" {cap.value.reason}" if cap.value.reason else ""
        yield f"The engine cut the largest capture size to {cap.value.largest}{why}."
    yield from _bars(log)
    if (
        log.failed is not None
        and log.finished is None
        and all(b.complete for b in log.bars.values())
    ):
        yield f"Capturing failed: {log.failed.where}."


def _bars(log: EngineLog) -> Iterator[str]:
    """That a capture stopped is said only where a line says that it failed."""
    if log.finished is not None:
        return
    for bar in log.bars.values():
        if bar.complete:
            continue
        where = f" at size {bar.size}" if bar.size is not None else ""
        came = f"{bar.done} of {bar.total}"
        failed = log.failed is not None and log.failed.line >= bar.line
        if failed and log.out_of_memory:
            yield (
                f"{bar.name} ran out of memory{where} after {came}: the KV cache left too little "
                "for graphs, and the first (largest) ones take nearly all of it."
            )
        elif failed and log.failed is not None:
            yield f"{bar.name} failed{where} after {came}: {log.failed.where}."
        else:
            yield (
                f"{bar.name} is seen up to {came}{where}; whether it went on is not in this log."
            )
