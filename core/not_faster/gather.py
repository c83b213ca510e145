"""From files and choices to what is known: profiles, logs, metrics and recorded runs, joined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.cost.family import ProfileFamily, timed_sizes
from core.cost.of_tokens import decodes
from core.diagnose import Cause, diagnose
from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.padding import engine_padding
from core.errors import FileContentError, ProjectError, RecordError
from core.not_faster.engine_facts import engine_facts
from core.not_faster.known import EngineFacts, Known
from core.not_faster.times import fits
from core.padding import EAGER, PaddingReport, dispatched_report, padding_report
from core.readers import Reading, read
from core.records import (
    Origin,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
    profile_from_json,
)

LARGEST_TEXT_BYTES = 2**28


@dataclass(frozen=True)
class Part:
    """One file, understood: a profile, or what an engine left.

    rules : what the engine's own rules make of the configuration in a log
    """

    name: str
    profile: Profile | None = None
    reading: Reading | None = None
    facts: EngineFacts | None = None
    rules: CheckReport | None = None
    notes: tuple[str, ...] = ()


def read_part(data: bytes, name: str) -> Part:
    """A profile (JSON), or an engine's log, metrics or recorded run.

    Raises ProjectError for a file that is none of them.
    """
    if len(data) > LARGEST_TEXT_BYTES:
        raise FileContentError(
            f"{name} is larger than {LARGEST_TEXT_BYTES >> 20} MiB; cut it to the part of interest."
        )
    profile = _profile(data, name)
    if profile is not None:
        return Part(name, profile=profile)
    text = (
        "" if b"\0" in data[:4096] or data[:2] == b"\x1f\x8b" else data.decode("utf-8", "replace")
    )
    causes = diagnose(text).causes if text.strip() else ()
    try:
        reading = read(data, name=name)
    except ProjectError:
        if not causes:
            raise
        return Part(name, facts=EngineFacts(causes=causes))
    return part_of(reading, name, causes)


def part_of(reading: Reading, name: str, causes: tuple[Cause, ...] = ()) -> Part:
    """What a reading says of graphs; causes : failures found in its text."""
    rules, notes = _rules(reading)
    if reading.format == "engine-run" or "engine" in reading.facts or reading.captured is not None:
        facts = engine_facts(reading, causes, rules)
        return Part(name, reading=reading, facts=facts, rules=rules, notes=notes)
    return Part(name, reading=reading, notes=notes)


def _profile(data: bytes, name: str) -> Profile | None:
    if data[:1].strip() not in (b"", b"{") or b'"rows"' not in data or b'"spec"' not in data:
        return None
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is no JSON ({error}); give a profile.") from error
    is_profile = isinstance(document, dict) and {"rows", "spec"} <= set(document)
    return profile_from_json(document, name) if is_profile else None


def _rules(reading: Reading) -> tuple[CheckReport | None, tuple[str, ...]]:
    """What the engine does with the configuration that its log states.

    None where the log states none of it: the rule of a release would only be a guess.
    """
    log = reading.log
    engine = ENGINES.get(log.engine) if log is not None else None
    if engine is None or log is None or (log.sizes is None and log.release is None):
        return None, ()
    try:
        return check(engine, log=log), ()
    except ProjectError as error:
        return None, (f"The log's configuration was not understood: {error}",)


def gather(
    parts: Sequence[Part],
    *,
    steps: StepHistogram | None = None,
    report: PaddingReport | None = None,
    sizes: Sequence[int] | None = None,
    sizes_source: str = "",
    family: ProfileFamily | None = None,
    cost: StepCost | None = None,
) -> Known:
    """Everything that is known, from files and from what the user chose beside them.

    steps : instead of those in the files
    report, sizes : through which captured sizes, instead of those that the engine says; where it
        says that graphs are off every step runs eager all the same
    family, cost : a profile and its step cost
    Raises CaptureSizesError.
    """
    ordered = sorted(parts, key=ran_without)
    engine, without = _engines([part.facts for part in ordered if part.facts is not None])
    notes = [note for part in ordered for note in part.notes]
    steps = _counted(ordered) if steps is None else steps
    if steps is not None and steps.total_steps == 0:
        steps = None
        notes.append("The histogram holds no step.")
    if steps is None and engine is None and family is not None:
        steps, sizes, sizes_source = _each_size_once(family.profile)
        notes.append("No steps are given: each measured size counts once.")
    if steps is not None and report is None:
        rules = next((p.rules for p in ordered if p.rules and not ran_without(p)), None)
        steps, engine, said = _decode_only(steps, engine, rules)
        notes += said
        steps, report, sizes_source = _report(steps, sizes, sizes_source, engine, rules)
    if steps is not None and engine is not None and engine.off is not None:
        report = dispatched_report(steps, steps.sizes[-1:], np.full(len(steps.sizes), EAGER))
    if steps is not None and family is not None and not fits(family.profile, steps.unit):
        cost, family = None, None
        notes.append("The profile is of prefill chunks, the steps are of decoding: not used.")
    of_chunks = family is not None and family.profile.spec.unit is SizeUnit.TOKENS
    if steps is not None and cost is not None and not of_chunks:
        notes += _beyond_decoding(steps, cost)
    return Known(steps, report, sizes_source, engine, without, family, cost, tuple(notes))


def _beyond_decoding(steps: StepHistogram, cost: StepCost) -> list[str]:
    """Says where steps by tokens are wider than the decode steps that the cost was made for."""
    widest, known = int(steps.sizes[-1]), int(cost.sizes[-1])
    if steps.unit is not SizeUnit.TOKENS or decodes(steps) or widest <= known:
        return []
    return [
        f"Steps of up to {widest:,} tokens are weighed as rows of decode steps, known up to "
        f"{known:,}: those that hold prompts take less time a token."
    ]


def ran_without(part: Part) -> bool:
    """Whether a file is of an engine without graphs: where there are two, the one to compare."""
    return part.facts is not None and part.facts.off is not None


def _counted(parts: Sequence[Part]) -> StepHistogram | None:
    """The steps of the first file that counts each of them, else of the first that samples them.

    Those of a run with graphs come before those of one without.
    """
    found = [(ran_without(p), p.reading.steps) for p in parts if p.reading and p.reading.steps]
    order = sorted(found, key=lambda item: (item[0], item[1].origin is not Origin.MEASURED))
    return order[0][1] if order else None


def _each_size_once(
    profile: Profile,
) -> tuple[StepHistogram | None, tuple[int, ...] | None, str]:
    """Stands in for traffic: a step of each size that was measured, and those sizes."""
    sizes = timed_sizes(profile)
    if not sizes:
        return None, None, ""
    steps = StepHistogram.from_mapping(
        dict.fromkeys(sizes, 1),
        unit=profile.spec.unit,
        origin=Origin.ASSUMED,
        source="each measured size once",
    )
    return steps, tuple(sorted(sizes)), "the sizes of the profile"


def _engines(found: Sequence[EngineFacts]) -> tuple[EngineFacts | None, EngineFacts | None]:
    """The run with graphs, and one without to compare: only where both are there."""
    on = [facts for facts in found if facts.off is None]
    off = [facts for facts in found if facts.off is not None]
    if not on:
        return _joined(off), None
    return _joined(on), _joined(off)


def _joined(found: Sequence[EngineFacts]) -> EngineFacts | None:
    if not found:
        return None
    result = found[0]
    for facts in found[1:]:
        result = result.completed(facts)
    return result


def _decode_only(
    steps: StepHistogram, engine: EngineFacts | None, rules: CheckReport | None
) -> tuple[StepHistogram, EngineFacts | None, list[str]]:
    """Without the steps that are wider than any decode step: they hold prompts."""
    plan = rules.plan if rules is not None else None
    if plan is None or plan.full_load is None or steps.unit is not SizeUnit.TOKENS:
        return steps, engine, []
    narrow = steps.sizes <= plan.full_load
    if narrow.all() or not narrow.any():
        return steps, engine, []
    left_out = int(steps.steps[~narrow].sum())
    kept = replace(steps, sizes=steps.sizes[narrow], steps=steps.steps[narrow])
    said = (
        f"{left_out:,} steps of more than {plan.full_load} tokens hold prompts and are left out, "
        "and with them the engine's own count of eager steps, which holds them too."
    )
    return kept, None if engine is None else replace(engine, replays=None), [said]


def _report(
    steps: StepHistogram,
    sizes: Sequence[int] | None,
    source: str,
    engine: EngineFacts | None,
    rules: CheckReport | None,
) -> tuple[StepHistogram, PaddingReport | None, str]:
    """The steps through the sizes chosen, else through what the engine says it captured; by the
    engine's own rule, and in its unit, where that is known."""
    if sizes is not None:
        return steps, padding_report(steps, sizes), source or "the sizes given"
    if engine is None or not engine.captured:
        return steps, None, source
    said = f"the {len(engine.captured)} sizes that {engine.label} captured"
    if rules is not None:
        try:
            rule = ENGINES[rules.engine]
            found = engine_padding(rule, steps, None, rules.version, rules.settings)
            return in_own_unit(steps, found.steps), found.report, said
        except ProjectError:
            pass  # a histogram that this engine has no graphs for: sizes alone still tell
    return steps, padding_report(steps, engine.captured), said


def in_own_unit(steps: StepHistogram, replayed: StepHistogram) -> StepHistogram:
    """The steps as they came, where an engine counts each request as one token: every chart of
    them then names the same unit."""
    return steps if np.array_equal(steps.sizes, replayed.sizes) else replayed
