"""What the Calibrate page was given, as one frozen choice."""

from __future__ import annotations

from dataclasses import dataclass

from core.simulate import Machine


@dataclass(frozen=True)
class CalibrationChoice:
    """What is fitted, and what is known of the engine that ran.

    file, eager : name and content; no file: the example; eager : the same without graphs
    capture_sizes : empty: it ran eager; None: as the file says
    """

    file: tuple[str, bytes] | None
    eager: tuple[str, bytes] | None
    capture_sizes: tuple[int, ...] | None
    limits: Machine
