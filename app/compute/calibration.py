"""Step times fitted to what an engine did."""

from __future__ import annotations

import streamlit as st

from app.calibrating.choice import CalibrationChoice
from app.compute.hashing import HASH
from core.calibration.calibrate import calibrate, eager_table
from core.calibration.calibrated import Calibration
from core.calibration.evidence import Evidence
from core.calibration.example import example_evidence
from core.calibration.sources import read_evidence


@st.cache_data(max_entries=4, show_spinner="Fitting step times …", hash_funcs=HASH)
def calibration(choice: CalibrationChoice) -> Calibration:
    """Read, fit, check, and simulate the run. Raises InputError."""
    evidence = example_evidence() if choice.file is None else _read(choice.file)
    eager = None if choice.eager is None else eager_table(_read(choice.eager))
    return calibrate(
        evidence, capture_sizes=choice.capture_sizes, eager_us=eager, limits=choice.limits
    )


def _read(file: tuple[str, bytes]) -> Evidence:
    name, content = file
    return read_evidence(content, name=name)
