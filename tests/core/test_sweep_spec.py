"""A sweep as a document: whole through JSON, and bad values named before anything runs."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from core.errors import CaptureSizesError, RecordError, SettingError
from core.records import BucketSet, GraphMemory, Origin, PoolPolicy
from core.serving.spec import (
    EAGER,
    SweepSet,
    SweepSpec,
    sweep_from_json,
    sweep_row_from_json,
    sweep_sets,
    sweep_to_json,
)
from core.simulate import Machine, PrefillCost
from core.step_cost import assumed_step_cost

MEMORY = GraphMemory(np.array([1, 8]), np.array([1.0, 2.5]), np.zeros(2), Origin.ASSUMED, "hand")
PREFILL = PrefillCost(1.0, 0.1, 0.01, 256, Origin.FITTED, "hand", us_per_pair=1e-4)
SPEC = SweepSpec(
    *(Machine(9_999, mode="separate", draft_tokens=2, acceptance=1 / 3), assumed_step_cost()),
    *(MEMORY, 131_072.0, sweep_sets([None, BucketSet("few", (8, 64))]), 300),
    loads=(0.5, 4.0),
    policy=PoolPolicy.PRIVATE,
    prefill=PREFILL,
    base_load=0.25,
    prefix_hit_rate=0.3,
    ttft_limit_s=0.1,
)


def test_a_sweep_comes_back_exactly():
    """Through the text of JSON, arrays and thirds included; its key is that of its content."""
    back = sweep_from_json(json.loads(json.dumps(sweep_to_json(SPEC), allow_nan=False)))
    assert back == SPEC and back.key == SPEC.key and hash(back) == hash(SPEC)
    assert back.machine == SPEC.machine and back.prefill == PREFILL
    assert back.cost.eager_us.tolist() == SPEC.cost.eager_us.tolist()
    assert back.sets == (EAGER, SweepSet("few", (8, 64)))
    other = replace(SPEC, loads=(0.5, 2.0))
    assert other != SPEC and other.key != SPEC.key and other != "sweep"


def test_points_are_load_by_load():
    """Two loads and two sets are four runs, the first load's first."""
    assert [point.text for point in SPEC.points] == [
        *("eager at load x0.5", "few at load x0.5"),
        *("eager at load x4", "few at load x4"),
    ]


def test_a_load_has_sets_of_its_own():
    """Beside those of every load, in the order of the loads; through JSON, too. Sets for one of
    two loads, or a name twice under one load, are no sweep."""
    own = replace(
        SPEC, sets=(EAGER,), sets_by_load=((SweepSet("a", (8,)),), (SweepSet("a", (9,)),))
    )
    assert [(p.load, p.set.name, p.set.sizes) for p in own.points] == [
        *((0.5, "eager", ()), (0.5, "a", (8,))),
        *((4.0, "eager", ()), (4.0, "a", (9,))),
    ]
    assert sweep_from_json(json.loads(json.dumps(sweep_to_json(own)))) == own != SPEC
    with pytest.raises(SettingError, match="sets of their own for 1 loads and 2 loads"):
        replace(own, sets_by_load=own.sets_by_load[:1])
    with pytest.raises(SettingError, match="holds set 'eager' twice"):
        replace(own, sets_by_load=((EAGER,), ()))
    with pytest.raises(SettingError, match="at least one"):
        replace(own, sets=(), sets_by_load=((), ()))


def test_every_field_of_the_document_is_in_it():
    """A field that were left out would be another sweep at the worker."""
    assert set(sweep_to_json(SPEC)) == {item.name for item in fields(SweepSpec)}
    assert set(sweep_to_json(SPEC)["machine"]) == {item.name for item in fields(Machine)}


@pytest.mark.parametrize("found", [2, 0, None, "1", True])
def test_another_format_is_refused_by_name(found: Any):
    """A newer dashboard's sweep is not guessed at."""
    with pytest.raises(RecordError, match="this version reads 1; update Bucketwise"):
        sweep_from_json({**sweep_to_json(SPEC), "format": found}, "job x")


def test_what_is_no_sweep_is_refused():
    """Shape, unknown fields, and sizes that are none."""
    for data in (None, [], "sweep", 3):
        with pytest.raises(RecordError, match="an object was expected"):
            sweep_from_json(data)
    with pytest.raises(RecordError, match="sweep.machine: unknown field 'gpus'"):
        plain = sweep_to_json(SPEC)
        sweep_from_json({**plain, "machine": {**plain["machine"], "gpus": 8}})
    with pytest.raises(CaptureSizesError, match="Capture size 0"):
        sweep_from_json({**sweep_to_json(SPEC), "sets": [{"name": "a", "sizes": [0]}]})
    with pytest.raises(RecordError, match="row.load is '1'; a number"):
        sweep_row_from_json(
            {"name": "a", "sizes": [], "load": "1", "graph_bytes": 0, "kv_tokens": 1}
        )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sets": ()}, "at least one bucket set and one load"),
        ({"loads": ()}, "at least one bucket set and one load"),
        ({"loads": (1.0, 1.0)}, "holds load 1.0 twice"),
        ({"loads": (0.0,)}, "load 0.0 is 0.0; it must be above 0"),
        ({"loads": (float("inf"),)}, "it must be above 0"),
        ({"sets": (SweepSet("a", (1,)), SweepSet("a", (2,)))}, "holds set 'a' twice"),
        ({"loads": tuple(float(n) for n in range(1, 5000))}, "4096 runs are the most"),
        ({"num_requests": 0}, "holds no request"),
        ({"kv_bytes_per_token": 0.0}, "kv_bytes_per_token is 0.0"),
        ({"base_load": -1.0}, "base_load is -1.0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"prefix_hit_rate": 1.5}, "prefix_hit_rate is 1.5"),
        ({"ttft_limit_s": 0.0}, "ttft_limit_s is 0.0"),
        ({"memory": replace(MEMORY, sizes=np.array([8, 1]))}, "memory must be of ascending"),
        ({"memory": replace(MEMORY, pool_bytes=np.zeros(1))}, "memory has 2 sizes"),
        ({"memory": replace(MEMORY, graph_bytes=np.array([0.0, -1.0]))}, "values of 0 or more"),
        ({"cost": replace(SPEC.cost, sizes=np.array([], np.int64))}, "cost has 0 sizes"),
    ],
)
def test_bad_values_are_named(changes: dict[str, Any], sentence: str):
    """Before the run, not within it."""
    with pytest.raises(SettingError, match=sentence):
        replace(SPEC, **changes)
