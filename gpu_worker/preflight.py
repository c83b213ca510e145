"""Before a capture: which operations of the step would break it, and in which line.

The step runs once, eagerly, while every operation is looked at. Only what can be told without a
capture is told here; what a capture itself says is read by gpu_worker.failing.first_cause.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

OWN = Path(__file__).resolve()
SYNC_WARNING = "called a synchronizing CUDA operation"

READS = {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "equal"}
"""Functions that bring a value to the CPU. Looked for by name, since not all of them dispatch."""
SHAPES = {
    "aten::nonzero",
    "aten::masked_select",
    "aten::unique_consecutive",
    "aten::_unique",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::bincount",
}
COPIES = {"aten::_to_copy", "aten::copy_"}


@dataclass(frozen=True)
class Finding:
    """One operation that cannot be captured.

    kind : "waits for the CPU", "shape depends on data" or "copies from unpinned memory"
    """

    operation: str
    kind: str
    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.operation} {self.why}"


class Notes:
    """Findings in order, one a line and kind."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add(self, operation: str, kind: str, why: str, place: tuple[str, int]) -> None:
        """Note what was found at a place, unless that line was noted for the same before."""
        if not any((f.file, f.line, f.kind) == (*place, kind) for f in self.findings):
            self.findings.append(Finding(operation, kind, *place, why))


class FunctionRecorder(TorchFunctionMode):
    """Looks at every call of torch's Python functions, for reads of values."""

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self._notes = notes

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in READS:
            why = "reads a value on the CPU, which a replay never does"
            self._notes.add(f"Tensor.{name}", "waits for the CPU", why, users_line())
        return func(*args, **(kwargs or {}))


class OperationRecorder(TorchDispatchMode):
    """Looks at every operation that torch dispatches, for shapes and copies."""

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self._notes = notes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        why = why_shape_varies(name, args)
        if why is not None:
            self._notes.add(name, "shape depends on data", why, users_line())
        result = func(*args, **(kwargs or {}))
        if name in COPIES and _crosses(args, result):
            kind = "copies from unpinned memory"
            self._notes.add(name, kind, "copies memory that is not pinned", users_line())
        return result


def why_shape_varies(name: str, args: tuple[Any, ...]) -> str | None:
    """The reason, if the operation's result has a shape that depends on values."""
    if name in SHAPES:
        return "has a result whose shape depends on values; a graph's shapes do not"
    by_mask = name == "aten::index" and any(
        tensor is not None and tensor.dtype in (torch.bool, torch.uint8) for tensor in args[1]
    )
    if by_mask:
        return "indexes by a mask, so that its shape depends on values; a graph's shapes do not"
    return None


def _crosses(args: tuple[Any, ...], result: Any) -> bool:
    """Whether memory moved between the CPU and a card, and the CPU's is not pinned."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if not tensors or not isinstance(result, torch.Tensor):
        return False
    source = tensors[-1]  # of copy_(target, source) as of _to_copy(source)
    if source.device.type == result.device.type:
        return False
    return not (source if source.device.type == "cpu" else result).is_pinned()


def users_line() -> tuple[str, int]:
    """File and line of the innermost frame that is neither torch's nor ours."""
    inside = (str(OWN), str(Path(torch.__file__).parent))
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(inside):
            return Path(frame.filename).name, frame.lineno or 0
    return "?", 0


def inspect(action: Callable[[], object]) -> list[Finding]:
    """Run the action once and tell what in it cannot be captured, in order."""
    notes = Notes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _sync_debugging(), FunctionRecorder(notes), OperationRecorder(notes):
            action()
    for warning in caught:
        place = Path(warning.filename).name, warning.lineno
        known = any((f.file, f.line) == place for f in notes.findings)
        if SYNC_WARNING in str(warning.message) and not known:
            why = "waits for the device, which is forbidden while capturing"
            notes.add("a CUDA call", "waits for the CPU", why, place)
    return notes.findings


class _sync_debugging:  # noqa: N801
    """CUDA's own warnings about calls that wait, where there is CUDA."""

    def __enter__(self) -> None:
        if torch.cuda.is_available():
            self._before = torch.cuda.get_sync_debug_mode()
            torch.cuda.set_sync_debug_mode("warn")

    def __exit__(self, *_: object) -> None:
        if torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode(self._before)
