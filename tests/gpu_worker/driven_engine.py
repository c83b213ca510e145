"""A worker's environment with the stand-in for vLLM, and specs that it answers in moments."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.records import MeasureSpec, spec_from_json

STAND_IN = Path(__file__).parent / "stand_in_engine"
ENGINE = {"max_num_seqs": 16, "max_num_batched_tokens": 64, "max_model_len": 512}
MODEL = {"name": "tiny", "vocab_size": 96}


def environment(**behaviour: Any) -> dict[str, str]:
    """With the stand-in installed, and how it shall behave."""
    return {
        **os.environ,
        "PYTHONPATH": str(STAND_IN),
        "STAND_IN_VLLM": json.dumps(behaviour),
        "OMP_NUM_THREADS": "1",
    }


def engine_spec(*sizes: int, target: str = "vllm", **values: Any) -> MeasureSpec:
    """Six samples at a context of 40 tokens."""
    engine = {**ENGINE, **values.pop("engine", {})}
    asked = {"context_tokens": 40, "samples": 6, "model": MODEL, **values}
    return spec_from_json({"sizes": list(sizes), "target": target, "engine": engine, **asked})
