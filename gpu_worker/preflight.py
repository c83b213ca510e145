"""Before a capture: which operations of the step would break it, and in which line.

The step runs once, eagerly, while every operation is looked at. Only what can be told without a
capture is told here; what a capture itself says is read by gpu_worker.graphs.first_cause.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

OWN = Path(__file__).resolve()
SYNC_WARNING = "called a synchronizing CUDA operation"

WAITS = {
    "aten::_local_scalar_dense": "reads a value on the CPU",
    "aten::is_nonzero": "reads a value on the CPU",
    "aten::equal": "reads the result of a comparison on the CPU",
}
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


class Recorder(TorchDispatchMode):
    """Looks at every operation that torch dispatches."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[Finding] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        kind_and_why = judge(name, args)
        if kind_and_why is not None:
            self._note(name, *kind_and_why)
        result = func(*args, **(kwargs or {}))
        if name in COPIES and _crosses(args, result):
            self._note(name, "copies from unpinned memory", "copies memory that is not pinned")
        return result

    def _note(self, name: str, kind: str, why: str) -> None:
        file, line = users_line()
        finding = Finding(name, kind, file, line, why)
        if finding not in self.findings:
            self.findings.append(finding)


def judge(name: str, args: tuple[Any, ...]) -> tuple[str, str] | None:
    """Kind and reason, if the operation alone tells that it cannot be captured."""
    if name in WAITS:
        return "waits for the CPU", f"{WAITS[name]}, which a replay never does"
    indexed_by_mask = name == "aten::index" and any(
        tensor is not None and tensor.dtype in (torch.bool, torch.uint8) for tensor in args[1]
    )
    if name in SHAPES or indexed_by_mask:
        what = "indexes by a mask, so that its" if indexed_by_mask else "has a result whose"
        return "shape depends on data", f"{what} shape depends on values; a graph's shapes do not"
    return None


def _crosses(args: tuple[Any, ...], result: Any) -> bool:
    """Whether memory moved between the CPU and a card, and the CPU's is not pinned."""
    source = args[1] if len(args) > 1 and isinstance(args[1], torch.Tensor) else args[0]
    if not isinstance(result, torch.Tensor) or source.device.type == result.device.type:
        return False
    host = source if source.device.type == "cpu" else result
    return host.dim() > 0 and not host.is_pinned()


def users_line() -> tuple[str, int]:
    """File and line of the innermost frame that is neither torch's nor ours."""
    inside = (str(OWN), str(Path(torch.__file__).parent))
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(inside):
            return Path(frame.filename).name, frame.lineno or 0
    return "?", 0


def inspect(action: Callable[[], object]) -> list[Finding]:
    """Run the action once and tell what in it cannot be captured, in order."""
    with warnings.catch_warnings(record=True) as caught, Recorder() as recorder:
        warnings.simplefilter("always")
        with _sync_debugging():
            action()
    findings = list(recorder.findings)
    for warning in caught:
        if SYNC_WARNING not in str(warning.message):
            continue
        file, line = Path(warning.filename).name, warning.lineno
        if not any((found.file, found.line) == (file, line) for found in findings):
            why = "waits for the device, which is forbidden while capturing"
            findings.append(Finding("a CUDA call", "waits for the CPU", file, line, why))
    return findings


class _sync_debugging:  # noqa: N801
    """CUDA's own warnings about calls that wait, where there is CUDA."""

    def __enter__(self) -> None:
        if torch.cuda.is_available():
            self._before = torch.cuda.get_sync_debug_mode()
            torch.cuda.set_sync_debug_mode("warn")

    def __exit__(self, *_: object) -> None:
        if torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode(self._before)
