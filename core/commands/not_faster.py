"""`not-faster`: graphs are on, but nothing got faster; which of four groups of data says why."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.calibration.model import StepModel
from core.commands._cost import add_profile, chosen_source
from core.commands._numbers import whole_list
from core.commands._traffic import add_limits, add_traffic, chosen_steps, simulated_steps
from core.cost.family import ProfileFamily, family_of
from core.not_faster import PARTS, Answer, TimeSplit, why_not_faster
from core.not_faster.gather import Part, gather, read_part
from core.profiles import comparison_profiles, shipped_profiles
from core.records import StepCost, StepHistogram
from core.simulate import family_times
from core.step_cost import assumed_step_cost

NAME = "not-faster"
HELP = "graphs are on, but nothing got faster: which of four groups of data says why"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What there is to judge by."""
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="an engine's log, metrics or recorded run, one of a run without graphs too, a trace, "
        "a measured profile",
    )
    add("--sizes", type=whole_list, metavar="1,2,4", help="captured sizes, where no log says them")
    add_profile(parser)
    add_traffic(parser)
    add_limits(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer. Raises ProjectError, OSError."""
    parts = [read_part(Path(path).read_bytes(), Path(path).name) for path in args.files]
    family, cost = _times(args, parts)
    known = gather(
        parts, steps=_steps(args, parts, cost), sizes=args.sizes, family=family, cost=cost
    )
    return answer(why_not_faster(known))


def _times(
    args: argparse.Namespace, parts: list[Part]
) -> tuple[ProfileFamily | None, StepCost | None]:
    """Of --profile, else of the first profile among the files."""
    given = [part.profile for part in parts if part.profile is not None]
    if args.profile is None and given:
        every = [*given[1:], *shipped_profiles().values(), *comparison_profiles().values()]
        source = family_of(given[0], every)
    else:
        source = chosen_source(args.profile, args.context_tokens)
    if source is None:
        return None, None if args.profile is None else assumed_step_cost()
    if isinstance(source, StepModel):
        return None, source.cost
    return source, family_times(source, args.context_tokens)[0]


def _steps(
    args: argparse.Namespace, parts: list[Part], cost: StepCost | None
) -> StepHistogram | None:
    """Typed, from a histogram, else of a trace among the files that no file counts steps of."""
    if args.batches is not None or args.histogram is not None:
        return chosen_steps(args)
    readings = [part.reading for part in parts if part.reading is not None]
    if any(reading.steps is not None for reading in readings):
        return None
    trace = next((r.trace for r in readings if r.trace is not None), None)
    return None if trace is None else simulated_steps(trace, args, cost)


def answer(found: Answer) -> dict[str, Any]:
    """An answer as plain JSON types."""
    return {
        "sentence": found.sentence,
        "helps": found.helps,
        "groups": [
            {
                "group": item.group.value,
                "verdict": item.verdict.value,
                "lost_us": item.lost_us,
                "evidence": [asdict(evidence) for evidence in item.evidence],
                "todo": list(item.todo),
                "missing": list(item.missing),
            }
            for item in found.groups
        ],
        "split": None if found.split is None else split_json(found.split),
        "notes": list(found.notes),
    }


def split_json(split: TimeSplit) -> dict[str, Any]:
    """Means over all steps [us]."""
    parts = {f"{name}_us": split.mean(name) for name in PARTS}
    return {
        "eager_us": split.mean("eager"),
        "taken_us": split.mean_taken_us,
        "gain_us": split.gain_us,
        **parts,
        "origin": split.origin.value,
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    lines = [result["sentence"]]
    for number, item in enumerate(result["groups"], start=1):
        lost = item["lost_us"]
        loses = f", {lost:,.0f} µs a step" if lost else ""
        lines.append(f"{number}. {item['group']}: {item['verdict']}{loses}")
        lines += [f"   {found['text']} ({found['origin']})" for found in item["evidence"]]
        lines += [f"   to do: {words}" for words in item["todo"]]
        lines += [f"   to tell more, give {words}" for words in item["missing"]]
    return "\n".join([*lines, *(f"note: {note}" for note in result["notes"])])
