"""A session's work to make reports of, with or without names that would do harm."""

from __future__ import annotations

from dataclasses import replace

from app import compute, state, theme
from app.charts.serving import Served
from app.deciding.best_choice import BestChoice
from app.inputs.cost_choice import CostChoice
from app.inputs.engine_choice import EngineChoice
from app.inputs.memory_choice import MemoryChoice
from app.report.work import ChosenSet, ExportChoice, PayBack, ServedRuns, Work
from app.serving.choice import ServingLimits, machine_of, requests_of
from app.serving.runs import EAGER
from app.study import StudyChoice
from app.workload.traffic import Traffic
from core.example.reading import example_reading
from core.records import BucketSet, Origin, PoolPolicy, StepHistogram
from core.simulate import Machine, simulate
from core.study.advice import Ground
from core.study.graphs import EngineChoice as Studied
from core.study.prices import assumed_prices

SIZES = (1, 2, 4, 8)
HOSTILE = (
    "<b>bold</b></script><script>window.hit=1</script>"
    '<img src="http://evil.test/x" onerror="window.hit=2">'
    "=HYPERLINK(\"http://evil.test\") {{7*7}} ${window.hit=3} \x1b[31mred\x1b[0m & 'quoted'"
)
SHOWN = (
    "<b>bold</b></script><script>window.hit=1</script>"
    '<img src="http://evil.test/x" onerror="window.hit=2">'
    "=HYPERLINK(\"http://evil.test\") {{7*7}} ${window.hit=3} red & 'quoted'"
)


def plain_work(histogram: StepHistogram) -> Work:
    """Two sets on some steps, with every number from the assumption."""
    reading = example_reading()
    view = compute.cost_view(CostChoice("assumed"))
    sets = (
        ChosenSet(BucketSet("My list", SIZES), "#3a7bd5", None),
        ChosenSet(BucketSet("Best", (1, 3, 5, 8)), "#d9682b", None),
    )
    return Work(
        name="Tuning",
        notes="First line\nsecond line",
        version=3,
        workload=state.Workload("batches.csv", "digest", reading),
        traffic=Traffic(histogram, "measured: typed in"),
        sets=sets,
        best=BestChoice(num_graphs=3),
        best_for=histogram,
        view=view,
        profile=None,
        memory=MemoryChoice(40 * 2**30, 131072.0, 1000.0, PoolPolicy.PRIVATE, "by hand"),
        pay_back=PayBack("My list", 3600.0, None),
        served=None,
        engine=EngineChoice("trtllm", None, None, {"max_batch_size": 64}),
        export=ExportChoice("My list", "vllm", None, {}),
        study=studied(histogram, reading.label),
    )


def studied(histogram: StepHistogram, source: str) -> StudyChoice:
    """The same steps in vLLM as it comes, with the assumed prices."""
    return StudyChoice(
        *(histogram, Studied("vllm", "0.23.0"), assumed_prices(), Machine(100_000)),
        before_graphs=True,
        policy=PoolPolicy.SHARED_LARGEST_FIRST,
        grounds=(Ground("traffic", Origin.MEASURED, source),),
    )


def with_serving(work: Work) -> Work:
    """The first 200 requests served without graphs and with the first set."""
    trace = work.workload.reading.trace
    assert trace is not None
    limits = ServingLimits(64, 2048, 100_000, 1.0)
    machine, requests = machine_of(limits), requests_of(trace, limits)
    cost, prefill = work.view.cost, work.view.prefill
    first = work.sets[0]
    runs = tuple(
        Served(
            *(name, colour, len(sizes or ()), machine.kv_tokens),
            simulate(requests, machine, cost, sizes, prefill=prefill),
        )
        for name, colour, sizes in (
            (EAGER, theme.EAGER, None),
            (first.bucket_set.name, first.colour, SIZES),
        )
    )
    return replace(
        work, served=ServedRuns(runs, "KV cache of 100,000 tokens as typed", 1000.0, 50.0)
    )


def hostile_work(histogram: StepHistogram) -> Work:
    """The same with a harmful name wherever somebody from outside may give one."""
    work = plain_work(histogram)
    name, *_ = compute.profiles_that_ship()
    shipped = compute.profiles_that_ship()[name]
    model = replace(shipped.spec.model, name=HOSTILE)
    profile = replace(
        shipped,
        device=replace(shipped.device, name=HOSTILE, driver=HOSTILE),
        spec=replace(shipped.spec, model=model),
        measured_at=HOSTILE,
    )
    reading = replace(
        work.workload.reading,
        label=HOSTILE,
        kept=work.workload.reading.kept - 1,
        dropped={HOSTILE: 1},
        warnings=(HOSTILE,),
    )
    sets = tuple(
        replace(item, bucket_set=replace(item.bucket_set, name=f"{i} {HOSTILE}", note=HOSTILE))
        for i, item in enumerate(work.sets)
    )
    return with_serving(
        replace(
            work,
            name=HOSTILE,
            notes=f"{HOSTILE}\n{HOSTILE}",
            workload=state.Workload(HOSTILE, "digest", reading),
            traffic=Traffic(replace(histogram, source=HOSTILE), f"measured: {HOSTILE}"),
            sets=sets,
            view=compute.cost_view(CostChoice(HOSTILE, profile=profile)),
            profile=profile,
            study=studied(histogram, HOSTILE),
        )
    )
