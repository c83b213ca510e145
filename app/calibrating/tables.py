"""Tables of a calibration: the real run beside the simulated one, as rows of printed texts."""

from __future__ import annotations

from app import theme
from app.drawing.quantity import Quantity
from core.calibration.beside import Comparison

Row = dict[str, object]
LABELS = {
    "makespan": "makespan",
    "ttft_p50": "TTFT p50",
    "ttft_p99": "TTFT p99",
    "tpot_p50": "TPOT p50",
    "tpot_p99": "TPOT p99",
}


def comparison_rows(found: Comparison) -> list[Row]:
    """One row a figure: real, simulated, error; the distance of running requests last."""
    rows: list[Row] = [
        {
            "figure": label,
            "real": theme.seconds_text(found.figures[name].real),
            "simulated": theme.seconds_text(found.figures[name].simulated),
            "error": _error(found.figures[name].error),
        }
        for name, label in LABELS.items()
    ]
    rows.append(
        {
            "figure": "steps",
            "real": theme.count_text(found.steps.real),
            "simulated": theme.count_text(found.steps.simulated),
            "error": _error(found.steps.error),
        }
    )
    for label, distance in (
        ("running requests: distance", found.batch_distance),
        ("the same in groups of four", found.batch_distance_by_4),
    ):
        rows.append(
            {
                "figure": label,
                "real": "–",
                "simulated": "–",
                "error": Quantity(f"{distance:.3f}", distance),
            }
        )
    return rows


def _error(share: float) -> Quantity:
    return Quantity(f"{100 * share:+.1f} %", 100 * share, "%")
