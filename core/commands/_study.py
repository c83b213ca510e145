"""What commands make a study of: prices by name, and the requests of a file."""

from __future__ import annotations

from core.calibration.model import StepModel
from core.commands._cost import chosen_source
from core.readers import read
from core.records import Trace
from core.study.prices import Prices, assumed_prices, prices_of_family, prices_of_model


def named_prices(name: str | None, context_tokens: int | None = None) -> Prices:
    """From --profile; the assumption without one. Raises SettingError, RecordError, OSError."""
    source = chosen_source(name, context_tokens)
    if source is None:
        return assumed_prices()
    if isinstance(source, StepModel):
        return prices_of_model(source)
    return prices_of_family(source, context_tokens)


def trace_in(path: str) -> Trace | None:
    """A file's requests, where it holds requests with arrivals. Raises ProjectError, OSError."""
    trace = read(path).trace
    return trace if trace is not None and trace.arrival_s is not None else None
