"""What a start-up log itself says of its graphs, which outranks what a rule says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.engines.findings import Fix
from core.engines.memory import GIB, MemoryAccount
from core.engines.plan import Finding, Plan, Severity
from core.logs.record import EngineLog

_REASONS = (" because ", "not supported", "No valid ")
"""In words with which an engine turns graphs off by itself."""
NO_ROOM_GIB = 0.25
"""Free memory after capturing below which no further graph is advised."""


def log_findings(
    label: str, release: str, version: str | None, log: EngineLog
) -> Iterator[Finding]:
    """The log's own words on graphs, and from which release the rules beside it come.

    release : whose rules answer; version : the one asked for or named, None for neither
    """
    if version is None:
        text = (
            f"The log names no release: what it does not state itself is by the rules of {label} "
            f"{release} (assumed)."
        )
        yield Finding("release-assumed", Severity.INFO, text, "Give the release.")
    if log.sizes is None:
        text = f"The log does not print its list; sizes are by the rules of {label} {release}."
        yield Finding("list-not-in-log", Severity.INFO, text)
    said = [item for item in (log.off, log.failed) if item is not None]
    said += [change for change in log.downgrades if change.line not in {s.line for s in said}]
    said += [cap for cap in log.caps if cap.line not in {s.line for s in said}]
    for item in sorted(said, key=lambda stated: stated.line):
        yield Finding("log-says", Severity.WARNING, f"The log says in {item.where}.")


UNSAID = "The log does not say how many requests are admitted; if so many are: "


def reasoned(found: Iterable[Finding], log: EngineLog | None, admits: bool) -> Iterator[Finding]:
    """Findings of a plan in the light of a log.

    Where the engine itself turned graphs off, no flag turns them on again. admits : how many
    requests run at most is known; else steps above the largest size are a question, no fault.
    """
    reason = _own_reason(log) if log is not None else None
    for item in found:
        if log is not None and not admits and item.id == "above-largest":
            item = replace(item, severity=Severity.INFO, text=UNSAID + item.text)
        if reason is not None and item.id == "graphs-off":
            item = replace(item, fix=f"The engine turned them off: change what {reason} names.")
        yield item


def _own_reason(log: EngineLog) -> str | None:
    """Where the log says that the engine, not a setting, turned graphs off."""
    if log.off is None:
        return None
    if log.downgrades and log.downgrades[-1].value.mode == "NONE":
        return log.downgrades[-1].where
    return log.off.where if any(words in log.off.value for words in _REASONS) else None


def memory_finding(account: MemoryAccount, log: EngineLog | None) -> Finding:
    """What the engine holds back for graphs, beside what the log says they took.

    A rule that the log's order of graphs and KV cache contradicts is not stated.
    """
    text, when = account.rule, account.when
    order = log.graphs_first if log is not None else None
    if order is not None:
        after = "before" if order.value else "after"
        shown = f"In this log graphs were captured {after} the KV cache was sized: {order.where}."
        if ("captured before" in when) is order.value or "not known" in when:
            text = f"{text} {shown}"
        else:
            text = f"{shown} The rule at hand says otherwise and is left out."
            account, when = MemoryAccount("", when, ""), f"graphs are captured {after} it is sized"
    if account.reserved_bytes:
        text += f" Held back for graphs: {account.reserved_bytes / GIB:.2f} GiB (estimated)."
    took = log.graph_gib if log is not None else None
    if took is not None:
        text += f" In this log they took {took:g} GiB (measured)."
    return Finding("memory", Severity.INFO, text, load=when)


def roomy(fix: Fix, plan: Plan, log: EngineLog | None) -> Fix:
    """The engine's text for a list, unless it adds sizes where the log shows no memory for them."""
    free = log.facts.get("free_gib") if log is not None else None
    if free is None or not isinstance(free.value, float) or free.value >= NO_ROOM_GIB:
        return fix
    told = f"{free.value:.2f} GiB was free after capturing, line {free.line}"

    def text(sizes: tuple[int, ...]) -> str:
        if set(sizes) <= set(plan.sizes):
            return fix(sizes)
        return f"There is no memory for more graphs ({told}); free some of it before adding sizes."

    return text
