"""What FastDeploy states at DEBUG: its list, and the size of each step.

Source: FastDeploy's graph optimisation backend.
"""

from __future__ import annotations

import re

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.rules import Into, rule

MARKS = re.compile(r"\[CUDA GRAPH\]|CUDAGraph capture list \[|real shape obtained by CUDAGraph")
STEP = "obtained by CUDAGraph"
_STEP = re.compile(r"obtained by CUDAGraph is\s*:\s*(\d{1,9}), The padded shape is\s*:\s*(\d{1,9})")


def step(message: str) -> tuple[int, int] | None:
    """(size, padded size) of a step's line; None where it is cut."""
    match = _STEP.search(message)
    return (int(match[1]), int(match[2])) if match else None


FORM = LogForm(
    id="fastdeploy",
    name="fastdeploy-log",
    label="FastDeploy log",
    marks=MARKS,
    wanted=interest(r"CUDAGraph", r"CUDA GRAPH"),
    rules=(rule("CUDAGraph capture list", r"capture list \[(?P<sizes>[\d,\s]*)\]", Into.CAPTURED),),
    rank=24,
)
