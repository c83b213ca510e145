"""The built-in recorded run: vLLM on an H200, for the Calibrate page's example."""

from __future__ import annotations

from pathlib import Path

from core.calibration.evidence import Evidence
from core.calibration.sources import read_evidence

FILE = Path(__file__).with_name("vllm-0.23-h200-default.json.gz")


def example_evidence() -> Evidence:
    """The run and its table of eager steps (README.md says where they come from)."""
    return read_evidence(FILE)
