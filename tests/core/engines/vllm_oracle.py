"""Rows of what vLLM's own configuration code answered, held against the rules.

A row is {"settings": ..., "answer": ...} (tests/data/engine_oracle/README.md). A comparison names
the parts that differ: refusal, limits, sizes, mode, decode, mixed, counts.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.engines import ENGINES
from core.engines.dispatch import dispatch
from core.engines.plan import Plan, StepKind
from core.errors import SettingError

Row = Mapping[str, Any]

FOLDER = Path(__file__).parents[2] / "data" / "engine_oracle"


@dataclass(frozen=True)
class Difference:
    """One part of an answer: what the engine said and what the rule says."""

    part: str
    engine: object
    rule: object


def releases() -> tuple[str, ...]:
    """Releases with an oracle file, oldest first."""
    names = (path.name.removeprefix("vllm-").removesuffix(".json.gz") for path in files())
    return tuple(sorted(names, key=lambda name: tuple(map(int, name.split(".")))))


def files() -> Iterator[Path]:
    yield from FOLDER.glob("vllm-*.json.gz")


def rows(release: str) -> list[Row]:
    return read_rows(FOLDER / f"vllm-{release}.json.gz")


def read_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def differences(release: str, row: Row) -> tuple[Difference, ...]:
    """Every part of a row in which the rule of the release answers otherwise."""
    answer = row["answer"]
    refuses = bool(answer.get("refuses"))
    try:
        plan = ENGINES["vllm"].plan(release, row["settings"])
    except SettingError as error:
        return () if refuses else (Difference("refusal", "starts", str(error)),)
    if refuses:
        return (Difference("refusal", "refuses", "starts"),)
    return tuple(_parts(answer, plan))


def _parts(answer: Row, plan: Plan) -> Iterator[Difference]:
    sizes = _captured(answer)
    if plan.sizes != sizes:
        yield Difference("sizes", sizes, plan.sizes)
    width = plan.tokens_per_request
    load = answer["seqs"] * width
    if plan.full_load != load:
        yield Difference("limits", load, plan.full_load)
    if "decode" in answer:
        yield from _steps("decode", answer["decode"], plan, StepKind.DECODE, width)
        yield from _steps("mixed", answer["mixed"], plan, StepKind.PREFILL, 1)
    if "mode" in answer:
        yield from _mode(answer["mode"], plan)
    if "count" in answer:
        counted = {kind: graphs for kind, graphs in answer["count"].items() if graphs}
        ours = {count.what: count.graphs for count in plan.counts if count.graphs}
        if counted != ours:
            yield Difference("counts", counted, ours)


def _captured(answer: Row) -> tuple[int, ...]:
    """The list that is captured: after drafts and caches, none where the mode left is NONE."""
    if answer.get("mode") == "NONE" or answer.get("mode0") == "NONE":
        return ()
    return tuple(sorted(answer.get("sizes2", answer["sizes"])))


def _mode(mode: str, plan: Plan) -> Iterator[Difference]:
    """The mode by its kinds: whether decode and mixed steps may replay full or piecewise."""
    decode, mixed = MODES[mode]
    kinds = plan.decode[0].mode.value if plan.decode else "eager"
    mixed_kinds = plan.prefill[0].mode.value if plan.prefill else "eager"
    if (decode, mixed) != (kinds, mixed_kinds):
        yield Difference("mode", (decode, mixed), (kinds, mixed_kinds))


MODES = {
    "NONE": ("eager", "eager"),
    "PIECEWISE": ("piecewise", "piecewise"),
    "FULL": ("full", "full"),
    "FULL_DECODE_ONLY": ("full", "eager"),
    "FULL_AND_PIECEWISE": ("full", "piecewise"),
}


def _steps(
    part: str, steps: list[tuple[int, str, int]], plan: Plan, kind: StepKind, width: int
) -> Iterator[Difference]:
    """Each asked step [requests or tokens, how, slots]; an eager step runs at its own size."""
    found = dispatch(plan, [step[0] * width for step in steps], kind)
    for place, (asked, how, slots) in enumerate(steps):
        mode = str(found.modes[place])
        ours = int(found.padded[place]) if mode != "eager" else asked * width
        if (mode, ours) != (how, slots):
            yield Difference(part, (asked, how, slots), (asked, mode, ours))
            return
