"""The answer in full: the verdict, what it rests on, what would settle it, the text to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.engines import get_engine
from core.engines.export import export
from core.errors import ProjectError
from core.records import Origin
from core.simulation.step_times import weakest
from core.study.choose import TOLERANCE, Choice, Progress, choose
from core.study.figures import Beside, ListFigures, ScenarioFigures
from core.study.study import Study
from core.study.verdict import Kind, Verdict, measure, verdict

CAPTURES_ALONE = "the captures alone, size by size; not loading, compiling or warming up"
AS_VLLM = "prompts in chunks beside decoding requests, as vLLM does; this engine may do otherwise"
MEASURE = "python -m gpu_worker.replay runs both lists on your card with these requests."


@dataclass(frozen=True)
class Ground:
    """One thing that the verdict rests on. what : "step times"; origin : how it is known"""

    what: str
    origin: Origin
    source: str


@dataclass(frozen=True)
class Advice:
    """A verdict with all that stands behind it.

    compared : the list that stands beside today's: the chosen one, one that the user gave to be
        judged, or the best that was found where today's stays; None where no other was tried
    rests_on : the grounds; settle : what would make it surer, the most useful first
    paste : text for the engine; "" where it takes no list or none is to be changed in it
    """

    study: Study
    choice: Choice
    verdict: Verdict
    compared: Beside | None
    judged: Beside | None
    rests_on: tuple[Ground, ...]
    settle: tuple[str, ...]
    paste: str
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, for people."""
        return headline(self)


def advise(
    study: Study,
    *,
    judge: Sequence[int] | None = None,
    tolerance: float = TOLERANCE,
    grounds: Sequence[Ground] = (),
    progress: Progress | None = None,
) -> Advice:
    """Try the candidates and say what to run.

    judge : a list of the user's, tried in the same way
    grounds : where the traffic and the limits come from; the study adds its own
    Raises SettingError, CaptureSizesError, HistogramError.
    """
    given = () if judge is None else (tuple(judge),)
    choice = choose(study, tolerance, progress, given)
    found = verdict(study, choice)
    judged = study.beside(judge) if judge is not None else None
    rests = (*grounds, *_grounds(study))
    paste, warnings = _paste(study, found)
    return Advice(
        study,
        choice,
        found,
        judged or found.chosen or choice.best or _least_loss(choice),
        judged,
        rests,
        _settle(study, found),
        paste,
        warnings,
    )


def _least_loss(choice: Choice) -> Beside | None:
    return min(choice.tried, key=lambda item: item.worst_loss, default=None)


def _grounds(study: Study) -> tuple[Ground, ...]:
    cost, prefill, today = study.cost, study.prefill, study.today
    times = cost.origin if prefill is None else weakest((cost.origin, prefill.origin))
    found = [
        Ground("step times", times, f"{cost.source}, taken to be within {100 * study.error:.1f} %"),
        Ground("graph memory", today.memory_origin, f"{today.graph_bytes / 2**30:.2f} GiB today"),
        Ground("KV cache", study.accounting.rule_origin, study.accounting.rule),
        Ground("start-up", Origin.ESTIMATED, CAPTURES_ALONE),
    ]
    if not cost.eager_known:
        found.append(
            Ground(
                "what graphs save",
                Origin.ASSUMED,
                "nothing: steps were seen with graphs only, or without only",
            )
        )
    rules = study.engine.rules
    if rules is not None:
        note = rules.version_note(study.engine.version)
        origin = Origin.ASSUMED if note else Origin.ESTIMATED
        release, *_ = rules.checked_values(study.engine.version)
        found.append(Ground("engine's rules", origin, note or f"{rules.label} {release}, as read"))
    if rules is not None and rules.id != "vllm":
        found.append(Ground("scheduling", Origin.ASSUMED, AS_VLLM))
    if any(scenario.how == "sizes scaled" for scenario in study.scenarios):
        found.append(
            Ground("other loads", Origin.ASSUMED, "the histogram's sizes times the load: it has no "
                   "arrivals, so that more could not be simulated")
        )  # fmt: skip
    return tuple(found)


def _settle(study: Study, found: Verdict) -> tuple[str, ...]:
    """The most useful first."""
    texts = []
    if not study.cost.eager_known and found.uncovered > 0:
        texts.append(
            "Steps of your engine with graphs and without (calibrate --eager, or a second run)."
        )
    if study.cost.origin is not Origin.FITTED:
        texts.append(
            "A recorded run or a log with a line a step of your own engine (--run, calibrate): "
            "these step times are not its own."
        )
    if any(scenario.trace is None for scenario in study.scenarios):
        texts.append("Requests with arrivals instead of a histogram: they can be simulated.")
    if found.kind is not Kind.KEEP or study.error > found.best_gain > 0:
        texts.append(MEASURE)
    return tuple(texts)


def _paste(study: Study, found: Verdict) -> tuple[str, tuple[str, ...]]:
    """The list in the engine's own form, and what the engine would do to it."""
    name = study.engine.engine
    if name is None or not found.sizes:
        return ", ".join(map(str, found.sizes)), ()
    left_out = tuple(
        f"{off} keeps the engine from capturing: leave it out." for off in study.engine.off
    )
    engine = get_engine(name)
    settings = {k: v for k, v in study.engine.settings.items() if k not in engine.export_settings}
    try:
        text = export(engine, found.sizes, study.engine.version, settings)
    except ProjectError as error:
        return "", (str(error),)
    return text.text.strip(), (*left_out, *text.warnings)


def headline(advice: Advice) -> str:
    """What to do, and why, in one sentence."""
    found, engine = advice.verdict, advice.study.engine.rules
    whose = f"{engine.label}'s list" if engine is not None else "your list"
    keep = whose if _is_default(advice.study) else "the list you run"
    if not found.today.sizes:
        keep = "running without graphs"
    start = {
        Kind.KEEP: f"Keep {keep}",
        Kind.USE: f"Use these {len(found.sizes)} sizes",
        Kind.ADD: f"Add {len(found.added)} sizes up to {max(found.added, default=0):,}",
        Kind.DROP: f"Drop to {len(found.sizes)} sizes",
    }[found.kind]
    return f"{start}: {found.reason[0].lower()}{found.reason[1:]}"


def _is_default(study: Study) -> bool:
    """Whether what runs today is what the engine captures by itself."""
    return study.engine.engine is not None and study.default_sizes == study.today.sizes


def advice_json(advice: Advice) -> dict[str, Any]:
    """Plain JSON types: what `advise`, `tune` and the pages show, to the digit."""
    found, choice = advice.verdict, advice.choice
    compared = advice.compared
    return {
        "verdict": found.kind.value,
        "sentence": advice.sentence,
        "measure": measure(found.today),
        "reason": found.reason,
        "sizes": list(found.sizes),
        "today": list(found.today.sizes),
        "added": list(found.added),
        "dropped": list(found.dropped),
        "worst_loss_pct": _percent(found.chosen.worst_loss) if found.chosen else 0.0,
        "worst_scenario": found.chosen.worst if found.chosen else None,
        "gain_pct": _percent(found.chosen.gain) if found.chosen else 0.0,
        "best_gain_pct": _percent(found.best_gain),
        "claim_pct": _percent(found.claim),
        "uncovered_pct": _percent(found.uncovered),
        "compared": None if compared is None else list(compared.figures.sizes),
        "scenarios": scenarios_json(advice),
        "figures": {
            "today": list_json(advice.study, found.today),
            "compared": None if compared is None else list_json(advice.study, compared.figures),
        },
        "judged": None if advice.judged is None else beside_json(advice.judged),
        "frontier": [beside_json(item) for item in choice.frontier],
        "tried": len(choice.tried),
        "rests_on": [asdict(ground) for ground in advice.rests_on],
        "settle": list(advice.settle),
        "paste": advice.paste,
        "warnings": list(advice.warnings),
    }


def _percent(share: float) -> float:
    return round(100 * share, 3)


def beside_json(item: Beside) -> dict[str, Any]:
    return {
        "sizes": list(item.figures.sizes),
        "num_sizes": item.figures.num_sizes,
        "worst_loss_pct": _percent(item.worst_loss),
        "worst_scenario": item.worst,
        "gain_pct": _percent(item.gain),
        "losses_pct": {name: _percent(loss) for name, loss in item.losses.items()},
    }


def scenarios_json(advice: Advice) -> list[dict[str, Any]]:
    """One entry a scenario, with both lists' figures."""
    today, compared = advice.verdict.today, advice.compared
    other = today if compared is None else compared.figures
    return [
        {
            "name": scenario.name,
            "load": scenario.load,
            "how": scenario.how,
            "saturated": mine.saturated,
            "today": figures_json(mine),
            "list": figures_json(theirs),
        }
        for scenario, mine, theirs in zip(
            advice.study.scenarios, today.scenarios, other.scenarios, strict=True
        )
    ]


def figures_json(item: ScenarioFigures) -> Mapping[str, Any]:
    """Numbers of one list in one scenario."""
    names = (
        *("tpot_p50_ms", "tpot_mean_ms", "tpot_p99_ms", "ttft_p50_ms", "ttft_p99_ms"),
        *("itl_p50_ms", "output_tps", "makespan_s", "step_us", "steps", "mean_running"),
    )
    return {
        **{name: getattr(item, name) for name in names},
        "waste_pct": 100 * item.waste,
        "coverage_pct": 100 * item.coverage,
        "mixed_coverage_pct": 100 * item.mixed_coverage,
    }


def list_json(study: Study, figures: ListFigures) -> dict[str, Any]:
    """What a list takes, whatever the load."""
    return {
        "sizes": list(figures.sizes),
        "graphs": dict(figures.counts),
        "graph_gib": figures.graph_bytes / 2**30,
        "graph_memory_origin": figures.memory_origin.value,
        "kv_tokens": figures.kv_tokens,
        "startup_s": figures.startup_s,
        "pays_back_steps": study.pays_back_steps(figures),
        "notes": list(figures.notes),
    }
