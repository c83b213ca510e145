"""The groups weighed against each other: which one it is, in a sentence."""

from __future__ import annotations

from core.errors import CostUnitError
from core.not_faster.answer import Answer, Group, GroupAnswer, GroupFacts, Verdict
from core.not_faster.boundary import judge_boundary
from core.not_faster.kernels import MATTERS, judge_kernels, nothing_to_save
from core.not_faster.known import Known
from core.not_faster.replayed import eager_share, judge_replay
from core.not_faster.submission import judge_host
from core.not_faster.time_split import TimeSplit, split_time
from core.not_faster.times import times_of
from core.not_faster.words import capitalised, share_text, some, sourced, us_text
from core.step_cost import check_units

JUDGES = (judge_replay, judge_host, judge_kernels, judge_boundary)
ORDER = (Verdict.CAUSE, Verdict.PART, Verdict.NOT, Verdict.UNKNOWN)
LOST_TO = {
    Group.REPLAY: "to steps that replay no graph",
    Group.HOST: "outside of the graph, on the host",
    Group.KERNELS: "to padding",
    Group.BOUNDARY: "to copies and pieces at the graph's boundary",
}


def why_not_faster(known: Known) -> Answer:
    """Which of four groups keeps graphs from paying, or that they do pay.

    What the data cannot tell is said to be unknown, with what to upload.
    """
    split, notes = _split(known)
    facts = [judge(known, split) for judge in JUDGES]
    helps = None if split is None else _helps(split)
    groups = [_judged(item, facts, split, helps) for item in facts]
    groups.sort(key=lambda item: (ORDER.index(item.verdict), -(item.lost_us or 0.0)))
    return Answer(_sentence(known, groups, split, helps), helps, tuple(groups), split, notes)


def _split(known: Known) -> tuple[TimeSplit | None, tuple[str, ...]]:
    notes = list(known.notes)
    times, steps = times_of(known), known.steps
    if times is None and known.cost is not None:
        notes.append(
            "The step cost holds no eager times, so what graphs save is not known: give a run "
            "without graphs, or choose a measured profile."
        )
    if times is None or steps is None or known.report is None or steps.total_steps == 0:
        return None, tuple(notes)
    try:
        check_units(times.cost, steps.unit)
    except CostUnitError as error:
        return None, (*notes, str(error))
    engine = known.engine
    if times.outside is None and engine is not None and engine.step_us and engine.off is None:
        notes.append(
            "What the engine's steps take outside of the graph is not known: there is no profile, "
            "or its replays are longer than the engine's whole steps."
        )
    notes += [
        f"Steps, {sourced(steps.origin, steps.source or 'as given')}.",
        f"Step times, {sourced(times.cost.origin, times.cost.source)}.",
    ]
    return split_time(steps, known.report, times, eager_share(known)), tuple(notes)


def _helps(split: TimeSplit) -> bool:
    """A gain that is felt, and more than repeated measurements differ by."""
    return split.gain_us > max(MATTERS * split.mean("eager"), split.mean("spread"))


def _judged(
    facts: GroupFacts, every: list[GroupFacts], split: TimeSplit | None, helps: bool | None
) -> GroupAnswer:
    verdict = _verdict(facts, every, split, helps)
    acts = verdict in (Verdict.CAUSE, Verdict.PART)
    return GroupAnswer(
        facts.group,
        verdict,
        facts.evidence,
        facts.todo if acts else (),
        facts.missing if not acts or facts.lost_us is None else (),
        facts.lost_us,
    )


def _verdict(
    facts: GroupFacts, every: list[GroupFacts], split: TimeSplit | None, helps: bool | None
) -> Verdict:
    if facts.decisive is not None:
        return facts.decisive
    if not facts.known:
        return Verdict.UNKNOWN
    if split is None or facts.lost_us is None:
        return Verdict.PART if facts.matters else Verdict.NOT
    felt = facts.lost_us >= MATTERS * split.mean_taken_us
    decided = any(item.decisive is Verdict.CAUSE for item in every)
    if felt and helps is False and not decided and facts is _largest(every):
        return Verdict.CAUSE
    return Verdict.PART if felt or facts.matters else Verdict.NOT


def _largest(every: list[GroupFacts]) -> GroupFacts:
    return max(every, key=lambda item: item.lost_us or 0.0)


def _sentence(
    known: Known, groups: list[GroupAnswer], split: TimeSplit | None, helps: bool | None
) -> str:
    """The overall verdict, in one sentence."""
    share = eager_share(known)
    if share == 1.0:
        return _none_replay(known, split)
    if split is None:
        replay = next(item for item in groups if item.group is Group.REPLAY)
        return _without_times(known, replay, share)
    if helps:
        return _they_help(groups, split)
    if nothing_to_save(split) and split.gain_us >= -MATTERS * split.mean("eager"):
        return f"The card is the limit, not the host: {_at_best(split)}."
    lost = _most_lost(groups)
    gain = split.gain_us
    changed = f"save only {us_text(gain)}" if gain >= 0 else f"cost {us_text(-gain)}"
    return (
        f"Graphs {changed} against {us_text(split.mean('eager'))} of an eager step: "
        f"{us_text(lost.lost_us or 0.0)} a step goes {LOST_TO[lost.group]}, and {_at_best(split)}."
    )


def _at_best(split: TimeSplit) -> str:
    best, eager = max(split.possible_us, 0.0), split.mean("eager")
    if best <= 0:
        return f"even a graph of every size would save nothing of {us_text(eager)} a step"
    return (
        f"a graph of every size would save {us_text(best)} of {us_text(eager)} a step "
        f"({share_text(best / eager)})"
    )


def _none_replay(known: Known, split: TimeSplit | None) -> str:
    engine = known.engine
    why = f" ({engine.off})" if engine is not None and engine.off else ""
    text = f"No step replays a graph{why}, so nothing could get faster"
    return f"{text}." if split is None else f"{text}; {_at_best(split)}."


def _most_lost(groups: list[GroupAnswer]) -> GroupAnswer:
    return max(groups, key=lambda item: item.lost_us or 0.0)


def _they_help(groups: list[GroupAnswer], split: TimeSplit) -> str:
    eager, gain = split.mean("eager"), split.gain_us
    text = (
        f"Your graphs do help: they save {us_text(gain)} of {us_text(eager)} a step "
        f"({share_text(gain / eager)})"
    )
    lost = _most_lost(groups)
    if lost.lost_us is None or lost.lost_us < MATTERS * split.mean_taken_us:
        return f"{text}, and little more could be saved."
    return f"{text}; of what is left most, {us_text(lost.lost_us)}, goes {LOST_TO[lost.group]}."


def _without_times(known: Known, replay: GroupAnswer, share: float | None) -> str:
    if replay.verdict is Verdict.CAUSE and share is None:
        return "Capturing did not end, so steps run without a graph."
    if share is None:
        return f"It cannot be told yet. Missing: {replay.missing[0]}."
    if replay.verdict is Verdict.CAUSE:
        return f"{capitalised(some(share))} replay no graph."
    what = "step times: choose a measured profile of this model and card"
    if known.cost is not None:
        what = "captured sizes" if known.report is None else "eager step times"
    return (
        f"{capitalised(some(1 - share))} replay a graph; whether that saves time cannot be "
        f"told without {what}."
    )
