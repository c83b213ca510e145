"""SGLang's own answers, row by row, beside this project's rules."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.engines import ENGINES, _sglang_limits
from core.engines._sglang_sizes import decode_list
from core.engines.dispatch import dispatch
from core.engines.plan import Plan, StepKind
from core.errors import ProjectError

FOLDER = Path(__file__).parents[2] / "data" / "engine_oracle"
SGLANG = ENGINES["sglang"]
RELEASES = tuple(
    sorted(
        (path.name.removeprefix("sglang-").removesuffix(".json.gz"))
        for path in FOLDER.glob("sglang-*.json.gz")
    )
)
UNLIMITED = 1_000_000
"""The pool of a row whose running requests memory would decide."""


@dataclass(frozen=True)
class Row:
    """One configuration and what the engine's own code answered."""

    release: str
    number: int
    settings: dict[str, Any]
    answer: dict[str, Any]


def rows(release: str) -> list[Row]:
    with gzip.open(FOLDER / f"sglang-{release}.json.gz", "rt") as file:
        found = json.load(file)
    return [Row(release, i, row["settings"], row["answer"]) for i, row in enumerate(found)]


def differences(row: Row) -> list[str]:
    """What this project says otherwise; empty where everything agrees."""
    refused = "refuses" in row.answer or "capture_error" in row.answer
    try:
        plan = SGLANG.plan(row.release, row.settings)
    except ProjectError as error:
        return [] if refused else [f"refused: {error}"]
    return ["starts"] if refused else list(_differences(row, plan))


def _differences(row: Row, plan: Plan) -> Iterator[str]:
    release, values, wanted = SGLANG.checked_values(row.release, row.settings)
    answer = row.answer
    pool = _sglang_limits.request_pool(release, values) or UNLIMITED
    pairs: dict[str, tuple[object, object]] = {
        "decode": (answer["decode"], list(plan.sizes)),
        "prefill": (answer["prefill"], list(plan.prefill[0].sizes) if plan.prefill else []),
        "prefill kind": (answer["pback"], _kind(plan, answer["pback"])),
        "chunk": (answer["chunk"], _sglang_limits.chunked_prefill(release, values)),
        "running": (answer["max_running"], _sglang_limits.running(values)),
        "pool": (answer["pool"], pool),
    }
    if answer["decode0"] and plan.sizes:
        asked = decode_list(release, values, wanted).asked
        pairs["decode before the pool"] = (sorted(set(answer["decode0"])), list(asked))
    if "dback" in answer:
        pairs["decode kind"] = (
            answer["dback"],
            plan.decode[0].mode.value if plan.decode else "disabled",
        )
    if "pdisp" in answer:
        pairs["replayed"] = (answer["pdisp"], _replayed(plan, [n for n, _ in answer["pdisp"]]))
    for name, (engine, ours) in pairs.items():
        if engine != ours:
            yield f"{name}: engine {engine}, here {ours}"


def _kind(plan: Plan, engine: str) -> str:
    """The engine's word where our mode means it: piecewise stands for two of its kinds."""
    if not plan.prefill:
        return "disabled"
    mode = plan.prefill[0].mode.value
    if mode == "piecewise" and engine in ("breakable", "tc_piecewise"):
        return engine
    return mode


def _replayed(plan: Plan, tokens: list[int]) -> list[list[object]]:
    found = dispatch(plan, tokens, StepKind.PREFILL)
    return [[n, bool(on)] for n, on in zip(tokens, found.on_graph, strict=True)]
