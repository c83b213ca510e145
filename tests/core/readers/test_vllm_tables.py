"""vLLM's "CUDAGraph Stats" tables."""

from __future__ import annotations

import re

import pytest

from core.readers import read
from core.records import Grade, SizeUnit
from tests.core.readers.sample import TRACES, expected

NAME = "vllm_cudagraph_stats.log"
LOG = (TRACES / NAME).read_text()


def steps_of(text: str) -> dict[str, int]:
    steps = read(text.encode(), name="engine.log").steps
    assert steps is not None
    return {str(a): b for a, b in zip(steps.sizes.tolist(), steps.steps.tolist(), strict=True)}


def test_tables_are_added_over_the_file() -> None:
    """Counts of all tables add up, padding and captured sizes are those in the text."""
    facts = expected()[NAME]
    reading = read(TRACES / NAME)
    assert reading.grade is Grade.STEPS and reading.steps is not None
    assert steps_of(LOG) == facts["steps"]
    assert reading.steps.unit is SizeUnit.TOKENS
    assert reading.steps.total_steps == facts["total_steps"]
    assert reading.steps.useful_slots == facts["useful_slots"]
    assert reading.facts["padding_slots"] == facts["padding_slots"]
    assert reading.facts["tables"] == facts["tables"]
    assert reading.facts["runtime_modes"] == {"FULL": facts["total_steps"]}
    assert reading.captured is not None and list(reading.captured.sizes) == facts["captured"]
    assert reading.steps.duration_s == 10.0 * facts["tables"]


DECORATIONS = {
    "plain": lambda line: re.sub(r"^\(APIServer pid=1\) INFO [\d :-]+ \[\S+\] ?", "", line),
    "colours": lambda line: f"\x1b[1;36m(APIServer pid=1)\x1b[0;0m \x1b[32m{line[18:]}\x1b[0m",
    "container": lambda line: f"2026-11-30T04:32:09.123456789Z stderr F {line}",
    "old path": lambda line: line.replace("[cuda_graph.py:123]", "[compilation/cuda_graph.py:99]"),
    "carriage return": lambda line: f"Capturing:  50%|##   | 1/2\rCapturing: 100%\r{line}\r",
}


@pytest.mark.parametrize("how", DECORATIONS)
def test_prefixes_do_not_matter(how: str) -> None:
    """Colours, carriage returns, container times and other prefixes leave the counts alone."""
    decorated = "\n".join(DECORATIONS[how](line) for line in LOG.splitlines())
    assert steps_of(decorated) == expected()[NAME]["steps"]


def test_wrapped_rows_add_up() -> None:
    """Rows that a narrow terminal broke in two, and a broken list of sizes, are put together."""
    wrapped = []
    for line in LOG.splitlines():
        place = line.find("FULL")
        if "| FULL" in line:
            wrapped += [line[:place], line[place:]]
        elif "Capture sizes" in line:
            cut = line.index(", 96") + 1
            wrapped += [line[:cut], line[cut:]]
        else:
            wrapped.append(line)
    assert steps_of("\n".join(wrapped)) == expected()[NAME]["steps"]
    reading = read("\n".join(wrapped).encode())
    assert reading.captured is not None
    assert list(reading.captured.sizes) == expected()[NAME]["captured"]


def test_log_cut_in_the_middle_says_so() -> None:
    """A log that begins inside a table adds what is there and says that the start is missing."""
    lines = LOG.splitlines()
    start = next(i for i, line in enumerate(lines) if "FULL" in line and "|" in line) + 2
    reading = read("\n".join(lines[start:]).encode())
    assert any("cut" in warning for warning in reading.warnings)
    last = [line for line in lines if "| FULL" in line][-1]
    cut = LOG[: LOG.rindex(last) + len(last) - 30]
    reading = read(cut.encode())
    assert reading.dropped == {"table row is cut or damaged": 1}
    assert reading.rows == reading.kept + 1


def test_eager_rows_and_modes() -> None:
    """NONE rows are eager steps: counted as steps, never as padding; modes are kept apart."""
    text = """**CUDAGraph Config Settings:**

- Mode: FULL_AND_PIECEWISE
- Capture sizes: [1, 2, 4, 8, 16]

**CUDAGraph Stats:**

| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |
|-----------------|---------------|--------------|--------------|-------|
| 13              | 16            | 3            | FULL         | 4211  |
| 7               | 8             | 1            | PIECEWISE    | 10    |
| 700             | 700           | 0            | NONE         | 12    |
| 9               | 8             | -1           | FULL         | 5     |
"""
    reading = read(text.encode())
    assert steps_of(text) == {"7": 10, "13": 4211, "700": 12}
    assert reading.facts["runtime_modes"] == {"FULL": 4211, "PIECEWISE": 10, "NONE": 12}
    assert reading.facts["eager_steps"] == 12 and reading.facts["graph_steps"] == 4221
    assert reading.facts["padding_slots"] == 3 * 4211 + 10
    assert reading.dropped == {"table row is cut or damaged": 1}


def test_two_engines_at_once() -> None:
    """Tables of two engines whose lines are mixed are added row by row."""
    table = [
        "| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |",
        "| 3 | 4 | 1 | FULL | 5 |",
        "| 4 | 4 | 0 | FULL | 2 |",
    ]
    mixed = []
    for line in table:
        mixed += [f"(EngineCore_DP0 pid=1) {line}", f"(EngineCore_DP1 pid=2) {line}"]
    assert steps_of("\n".join(mixed)) == {"3": 10, "4": 4}
