"""The two jobs that run all the time: a measurement of many buckets, and a sweep of many runs."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarks.reliability.session_writer import reading_of
from core.records import MeasureSpec, ModelShape
from core.serving.spec import SweepSet, SweepSpec
from core.simulate import Machine
from core.step_cost import assumed_graph_memory, assumed_step_cost
from core.store.jobs import JobClient
from core.store.kinds.measure import MeasureJob
from core.store.kinds.sweep import SweepJob
from core.store.states import JobState

TINY = ModelShape(
    name="tiny",
    num_layers=2,
    hidden_size=64,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    ffn_size=128,
    vocab_size=97,
    dtype="float32",
)
MEASUREMENT, SWEEP = "measurement", "sweep"
REQUESTS = 2000


def send(task: str, client: JobClient) -> str:
    """Queue another one; its id. 40 buckets, or 40 runs, of about 0.2 s each."""
    if task == MEASUREMENT:
        sizes = tuple(range(1, 41))
        return client.submit(
            MeasureSpec(sizes, model=TINY, context_tokens=24, samples=5, warmup=150)
        )
    spec = SweepSpec(
        machine=Machine(kv_tokens=500_000, max_num_seqs=256, max_num_batched_tokens=8192),
        cost=assumed_step_cost(),
        memory=assumed_graph_memory(),
        kv_bytes_per_token=131_072.0,
        sets=tuple(SweepSet(f"to {n}", tuple(range(1, n + 1))) for n in range(10, 50)),
        num_requests=REQUESTS,
        loads=(1.0,),
    )
    return client.submit(spec, reading_of(0))


def finished_rows(state: JobState) -> list[tuple[str, str, bool]]:
    """(what was done, its row as text, whether it failed) of every finished step."""
    if isinstance(state, MeasureJob):
        return [(f"bucket {r.size}", _text(r), r.error is not None) for r in state.rows]
    if isinstance(state, SweepJob):
        return [(f"{r.name} at x{r.load:g}", _text(r), r.error is not None) for r in state.rows]
    raise TypeError(f"job {state.job_id} is of kind {state.kind}")


def _text(row: object) -> str:
    return json.dumps(asdict(row), sort_keys=True)  # pyright: ignore[reportArgumentType]
