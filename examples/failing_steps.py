"""Steps that a card cannot capture; graph_contract.py runs each in a process of its own.

A failed capture can leave the whole process unusable, so one process tries one step:
python examples/failing_steps.py ".item()"
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch

Tensor = torch.Tensor


def reads_item(x: Tensor) -> Tensor:
    if x.sum().item() > 0:
        return x * 2.0
    return x * 3.0


def selects_nonzero(x: Tensor) -> Tensor:
    rows = x.nonzero()
    return x * len(rows)


def copies_to_cpu(x: Tensor) -> Tensor:
    largest = x.cpu().max()
    return x * float(largest)


def makes_a_host_tensor(x: Tensor) -> Tensor:
    bias = torch.tensor([1.0] * len(x), device=x.device)
    return x + bias


def synchronises(x: Tensor) -> Tensor:
    y = x * 2.0
    torch.cuda.synchronize()
    return y


def leaves_a_stream_unjoined(x: Tensor) -> Tensor:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        return x * 2.0


HAZARDS: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    ".item()": (reads_item, "host_sync"),
    "nonzero()": (selects_nonzero, "data_dependent_shape"),
    ".cpu()": (copies_to_cpu, "host_sync"),
    "a host tensor": (makes_a_host_tensor, "h2d_copy"),
    "synchronize()": (synchronises, "host_sync"),
    "an unjoined stream": (leaves_a_stream_unjoined, "unjoined"),
}
"""Step by name, and the class that core.diagnose must find first in what Python prints."""


def main(name: str) -> None:
    """Run the step eagerly, which works, then capture it, which raises."""
    step = HAZARDS[name][0]
    x = torch.tensor([1.0, 0.0, 2.0, 3.0], device="cuda")
    step(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x)


if __name__ == "__main__":
    main(sys.argv[1])
