"""SGLang's rules for settings nobody listed: what holds whatever is given."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines._sglang_sizes import alignment
from core.engines.dispatch import EAGER, dispatch
from core.engines.plan import Plan, StepKind
from core.errors import SettingError

SGLANG = ENGINES["sglang"]

RELEASES = st.sampled_from(SGLANG.versions)
BUILT = st.sampled_from([v for v in SGLANG.versions if not v.startswith("0.4")])
LATER = st.sampled_from([v for v in SGLANG.versions if v.startswith(("0.5.1", "0.5.2"))])


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Cards, limits and groups, with values that no table of the engine names."""
    tp = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16]))
    groups = draw(st.sampled_from([n for n in range(1, tp + 1) if tp % n == 0]))
    drawn: dict[str, Any] = {
        "gpu_memory_gib": draw(st.floats(0, 400, allow_nan=False)),
        "max_running_requests": draw(st.none() | st.integers(1, 3000)),
        "cuda_graph_max_bs": draw(st.none() | st.integers(1, 1500)),
        "chunked_prefill_size": draw(st.none() | st.integers(64, 40_000)),
        "num_draft_tokens": draw(st.sampled_from([0, 2, 3, 5, 7])),
        "disable_cuda_graph_padding": draw(st.booleans()),
        "tp_size": tp,
    }
    if groups > 1:
        drawn |= {"dp_size": groups, "enable_dp_attention": True}
    return drawn


def plan_of(release: str, values: dict[str, Any], wanted: list[int] | None = None) -> Plan:
    """The plan; a combination with which the engine does not start is no example."""
    try:
        return SGLANG.plan(release, values, wanted)
    except SettingError:
        assume(False)
        raise


@settings(max_examples=200, deadline=None)
@given(RELEASES, configurations(), st.integers(1, 2000))
def test_a_replayed_step_fits(release: str, values: dict[str, Any], step: int) -> None:
    """What replays is at least the step; without padding it is the step itself."""
    plan = plan_of(release, values)
    for kind in StepKind:
        padded = int(dispatch(plan, [step], kind).padded[0])
        assert padded == EAGER or padded >= step
        if kind is StepKind.DECODE and values["disable_cuda_graph_padding"]:
            assert padded in (EAGER, step)


@settings(max_examples=200, deadline=None)
@given(BUILT, configurations(), st.lists(st.integers(1, 900), min_size=1, max_size=9))
def test_sizes_keep_the_limits(release: str, values: dict[str, Any], wanted: list[int]) -> None:
    """Ascending, within the pool rounded up to the alignment, and multiples of it by tokens."""
    plan = plan_of(release, values, wanted)
    known, checked, _ = SGLANG.checked_values(release, values)
    align = alignment(known, checked)
    assert list(plan.sizes) == sorted(set(plan.sizes))
    if plan.full_load is not None:
        assert max(plan.sizes) < plan.full_load + align
    width = max(values["num_draft_tokens"], 1) if known >= "0.5.8" else 1
    assert all(size * width % align == 0 for size in plan.sizes)
    dropped = {size for drop in plan.dropped for size in drop.sizes}
    assert set(wanted) == (set(plan.sizes) - set(plan.added)) | dropped


@settings(max_examples=100, deadline=None)
@given(LATER, configurations())
def test_a_full_batch_has_a_graph(release: str, values: dict[str, Any]) -> None:
    """From 0.5.10 the pool itself is captured wherever the list reaches it."""
    plan = plan_of(release, values | {"enable_dp_attention": False, "dp_size": 1})
    if plan.full_load is not None and max(plan.sizes) > plan.full_load:
        raise AssertionError("a size above the pool")
    asked = values["cuda_graph_max_bs"]
    if asked and plan.full_load and plan.full_load <= asked:
        assert plan.full_load in plan.sizes
    elif asked:
        assert max(plan.sizes) == asked


@settings(max_examples=100, deadline=None)
@given(BUILT, configurations(), st.integers(1, 700), st.integers(1, 700))
def test_more_requests_never_lose_a_batch(
    release: str, values: dict[str, Any], one: int, other: int
) -> None:
    """With a wider pool the largest captured batch does not shrink."""
    few, many = sorted((one, other))
    largest = [
        max(plan_of(release, values | {"max_running_requests": n}).sizes) for n in (few, many)
    ]
    assert largest[0] <= largest[1]


@settings(max_examples=100, deadline=None)
@given(RELEASES, configurations())
def test_prefill_sizes_keep_the_chunk(release: str, values: dict[str, Any]) -> None:
    """Built-in prefill sizes end at one group's chunk, or at 4096 before 0.5.7."""
    plan = plan_of(release, values)
    if not plan.prefill:
        return
    chunk = values["chunked_prefill_size"]
    groups = values.get("dp_size", 1) if release not in ("0.5.14", "0.5.15") else 1
    if chunk:
        assert not plan.prefill[0].sizes or max(plan.prefill[0].sizes) <= chunk // groups
    ratio = plan.prefill[0].max_ratio
    later = release not in ("0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.15")
    assert (ratio == 2.0) is later
