"""What a log states of its graphs and memory, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from core.logs.record import EngineLog
from core.text.counting import counted


def stated_lines(log: EngineLog) -> Iterator[str]:
    """Release and mode, graphs, KV cache and their order: only what lines of the log state."""
    head = [f"release {log.release.value}"] if log.release is not None else []
    head += [f"graph mode {log.mode.value}"] if log.mode is not None else []
    if head:
        yield ", ".join(head)
    if log.off is not None:
        yield f"graphs: off ({log.off.value}, line {log.off.line})"
    elif graphs := list(_graphs(log)):
        yield f"graphs: {', '.join(graphs)}"
    if memory := list(_memory(log)):
        yield f"KV cache: {', '.join(memory)}"


def _graphs(log: EngineLog) -> Iterator[str]:
    """Seconds and GiB are the engine's own measurement; an estimate is called one."""
    for kind, count in log.plain_graphs.items():
        yield f"{count:,} {kind}"
    if log.capture_s is not None:
        yield f"captured in {log.capture_s:,.6g} s (measured)"
    if log.graph_gib is not None:
        yield f"{log.graph_gib:,.6g} GiB (measured)"
    elif (megabytes := log.number("graph_mb")) is not None:
        yield f"{megabytes:,.6g} MB (measured)"
    if log.estimated_graph_gib is not None:
        yield f"{log.estimated_graph_gib:,.6g} GiB (estimated by the engine)"
    yield from _kinds(log)
    if log.free_gib is not None:
        yield f"{log.free_gib:,.6g} GiB free after capturing (measured)"


def _kinds(log: EngineLog) -> Iterator[str]:
    """What each kind took, where the log tells several apart."""
    stated = log.facts.get("captures")
    found = stated.value if stated is not None else []
    first = [item for item in found if item["rank"] == found[0]["rank"] and "mem_gib" in item]
    if len(first) > 1:
        for item in first:
            yield f"{item['kind']} {item['mem_gib']:,.6g} GiB"


def _memory(log: EngineLog) -> Iterator[str]:
    if log.kv_tokens is not None:
        yield counted(int(log.kv_tokens), "tokens")
    gib, blocks = log.number("kv_gib"), log.number("kv_blocks")
    if gib is not None:
        yield f"{gib:,.6g} GiB"
    if blocks is not None:
        yield counted(int(blocks), "blocks")
    if log.graphs_first is not None:
        order = "after" if log.graphs_first.value else "before"
        yield f"sized {order} graphs were captured (line {log.graphs_first.line})"
