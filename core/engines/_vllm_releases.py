"""The releases of vLLM whose rule is known, each with where it was read and how it was tried.

A release enters here by one row with evidence; `scripts/compare_oracle.py` gives its last column.
"""

from __future__ import annotations

from dataclasses import dataclass

_CONFIG = "parts of config/vllm.py, config/compilation.py, engine/arg_utils.py"
_FIRST = f"{_CONFIG}, v1/cudagraph_dispatcher.py"
_BOTH = f"{_FIRST}, v1/worker/gpu/cudagraph_utils.py"
_ANSWERS = "answers of its configuration code"
_PART = "one part of config/vllm.py"


@dataclass(frozen=True)
class Evidence:
    """A release and why its rule is known.

    read : files of the published package of which the parts that decide were read for these rules;
        empty where only its answers were compared
    answers : what the package's own code answered to settings of ours; empty where nobody asked
    Raises ValueError without either: a bare version is no evidence.
    """

    release: str
    read: str = ""
    answers: str = ""

    def __post_init__(self) -> None:
        if not (self.read.strip() or self.answers.strip()):
            raise ValueError(f"vLLM {self.release} is named without where its rule was read.")


EVIDENCE = (
    Evidence("0.33.0", _BOTH, _ANSWERS),
    Evidence("0.32.0", _PART, _ANSWERS),
    Evidence("0.31.0", answers=_ANSWERS),
    Evidence("0.30.0", _PART, _ANSWERS),
    Evidence("0.29.0", answers=_ANSWERS),
    Evidence("0.28.0", _BOTH, _ANSWERS),
    Evidence("0.27.1", answers=_ANSWERS),
    Evidence("0.26.0", answers=_ANSWERS),
    Evidence("0.25.1", _BOTH, _ANSWERS),
    Evidence("0.24.0", _PART, _ANSWERS),
    Evidence("0.23.0", f"{_BOTH}; start-up logs of an H200", _ANSWERS),
    Evidence("0.22.1", answers=_ANSWERS),
    Evidence("0.21.0", answers=_ANSWERS),
    Evidence("0.20.2", _FIRST, _ANSWERS),
    Evidence("0.19.1", _FIRST, _ANSWERS),
    Evidence("0.18.1", answers=_ANSWERS),
    Evidence("0.17.1", _FIRST, _ANSWERS),
    Evidence("0.16.0", answers=_ANSWERS),
    Evidence("0.15.1", _FIRST, _ANSWERS),
    Evidence("0.14.1", answers=_ANSWERS),
    Evidence("0.13.0", answers=_ANSWERS),
    Evidence("0.12.0", _FIRST, _ANSWERS),
    Evidence("0.11.2", answers=_ANSWERS),
    Evidence("0.11.1", _FIRST, _ANSWERS),
    Evidence("0.11.0", _FIRST, _ANSWERS),
    Evidence("0.10.2", _FIRST, _ANSWERS),
    Evidence("0.10.0", answers=_ANSWERS),
    Evidence("0.9.2", answers=_ANSWERS),
    Evidence("0.8.5", answers=_ANSWERS),
)
"""Newest first."""

VERSIONS = tuple(row.release for row in EVIDENCE)
