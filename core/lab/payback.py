"""Net gain of a replay, and the step at which its capture has paid back."""

from __future__ import annotations

from dataclasses import dataclass

from core.break_even import BreakEven, break_even
from core.errors import SettingError
from core.lab.derivation import Derivation, Step


@dataclass(frozen=True)
class StepModel:
    """Times of one step [us]; compute grows with the rows it runs.

    batch : rows that are useful; bucket : rows that the graph runs
    """

    batch: int = 6
    bucket: int = 8
    eager_submit_us: float = 6.0
    compute_us_per_row: float = 1.0
    graph_submit_us: float = 1.0
    copy_us: float = 1.0
    capture_us: float = 600.0

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.bucket:
            raise SettingError(
                f"A batch of {self.batch} does not fit a bucket of {self.bucket}; give 1 to "
                f"{self.bucket}."
            )


@dataclass(frozen=True)
class Payback:
    """Eager and graph step, and when capturing has paid back."""

    model: StepModel
    eager_us: float
    graph_us: float
    even: BreakEven
    derivation: Derivation


DEFAULT_MODEL = StepModel()


def payback(model: StepModel = DEFAULT_MODEL) -> Payback:
    """eager = submit + useful compute; graph = submit + bucket compute + copying in.

    Raises SettingError for a time below 0.
    """
    useful = model.batch * model.compute_us_per_row
    padded = model.bucket * model.compute_us_per_row
    eager = model.eager_submit_us + useful
    graph = model.graph_submit_us + padded + model.copy_us
    even = break_even(model.capture_us, eager, graph)
    net = eager - graph
    steps = (
        Step("useful compute: batch x time a row", useful, "us"),
        Step("bucket's compute: bucket x time a row", padded, "us"),
        Step("eager step: submit + useful compute", eager, "us"),
        Step("graph step: submit + bucket's compute + copying in", graph, "us"),
        Step("net gain: eager - graph", net, "us a step"),
        Step("even at: capture / net gain", even.even_at, "steps"),
        Step("saves from step", even.saves_from),
    )
    if even.saves_from is None:
        answer = f"Never: a replay takes {-net:g} µs more than the eager step it stands for."
    else:
        answer = (
            f"{model.capture_us:g} / {net:g} = {even.even_at:,.6g} is even; step "
            f"{even.saves_from:,} is the first that saves."
        )
    return Payback(
        model,
        eager,
        graph,
        even,
        Derivation(
            "net gain and break-even",
            f"A batch of {model.batch} in bucket {model.bucket}: after how many steps has "
            "capturing paid back?",
            (
                "compute grows with the rows in proportion; all times are assumed",
                "submitting and computing do not overlap",
            ),
            steps,
            answer,
        ),
    )
