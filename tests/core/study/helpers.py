"""Small studies: traffic, prices and limits that a test can hold in its head."""

from __future__ import annotations

import numpy as np

from core.calibration.calibrate import calibrate
from core.calibration.model import model_of
from core.calibration.recording import EngineRun, load_engine_run
from core.calibration.sources import read_evidence
from core.records import FloatArray, GraphMemory, Origin, StepCost, Trace
from core.simulate import Machine, PrefillCost
from core.study.accounting import Accounting
from core.study.build import EngineLimits, study_of
from core.study.graphs import EngineChoice
from core.study.prices import Prices, prices_of_model
from core.study.scenario import LOADS, scenarios_of
from core.study.study import Study
from tests.conftest import DATA

LISTS = DATA / "engine_lists"
VLLM = {"max_num_seqs": 256, "max_num_batched_tokens": 8192}
SIX = (8, 14, 20, 27, 37, 256)


def recorded(name: str) -> EngineRun:
    return load_engine_run(LISTS / f"{name}.json.gz")


def fitted_prices(name: str) -> Prices:
    """As `advise --run` takes them."""
    return prices_of_model(model_of(calibrate(read_evidence(LISTS / f"{name}.json.gz"))))


def study_of_run(name: str, seqs: int = 256, loads=LOADS, **settings: object) -> Study:
    """The requests of a recorded run, on the engine that ran it."""
    run = recorded(name)
    choice = EngineChoice("vllm", "0.23.0", {**VLLM, "max_num_seqs": seqs, **settings})
    limits = EngineLimits(seqs, 8192, run.kv_tokens, run.block_size_tokens)
    return study_of(run.trace, choice, fitted_prices(name), limits, loads=loads)


def cost(replay: FloatArray, eager: FloatArray | None = None, row_us: float = 0.0) -> StepCost:
    """Times of sizes 1, 2, 3 ... [us]."""
    sizes = np.arange(1, len(replay) + 1, dtype=np.int64)
    return StepCost(
        sizes,
        replay,
        replay if eager is None else eager,
        np.full(len(sizes), 50.0),
        Origin.FITTED,
        "by hand",
        row_us=row_us,
        eager_known=eager is not None,
    )


def memory() -> GraphMemory:
    """1 MiB a graph, nothing shared."""
    one = np.array([1], np.int64)
    return GraphMemory(one, np.zeros(1), np.full(1, 2.0**20), Origin.ASSUMED, "by hand")


def small_study(
    trace: Trace,
    prices: StepCost,
    today: tuple[int, ...],
    max_num_seqs: int = 64,
    error: float = 0.0,
    prefill: PrefillCost | None = None,
    loads=(0.5, 1.0, 1.5),
) -> Study:
    """Without an engine: sizes round up, graphs take no KV token."""
    prefill = prefill or PrefillCost(500.0, 5.0, 0.0, 0, Origin.FITTED, "by hand", captured=False)
    machine = Machine(200_000, 16, max_num_seqs, 2048)
    return Study(
        scenarios_of(trace, loads),
        EngineChoice(today=today),
        machine,
        prices,
        prefill,
        Accounting(memory(), takes_kv=False),
        error,
    )


def poisson(
    count: int, rate_rps: float, seed: int = 0, prompt: int = 60, output: int = 40
) -> Trace:
    """Requests at random, of random lengths about these."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1 / rate_rps, count))
    return Trace(
        rng.integers(1, 2 * prompt, count),
        rng.integers(2, 2 * output, count),
        arrival - arrival[0],
        name="poisson",
    )
