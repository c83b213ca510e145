"""Steps that cannot be captured, each beside one that can and gives the same result.

The broken ones are real code: captured on the emulated card they raise what CUDA would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.lab.tensor import HostTensor, Tensor, count_nonzero, tensor, where

Step = Callable[[Tensor], Tensor]
ROWS = 4
PINNED_ONES = HostTensor(np.ones(ROWS), pinned=True)


def reads_item(x: Tensor) -> Tensor:
    if count_nonzero(x)[:1].item() > 2:
        return x * 2.0
    return x * 3.0


def decides_on_the_card(x: Tensor) -> Tensor:
    return where(count_nonzero(x) > 2.0, x * 2.0, x * 3.0)


def selects_nonzero(x: Tensor) -> Tensor:
    rows = x.nonzero()
    return x * float(len(rows))


def counts_on_the_card(x: Tensor) -> Tensor:
    return x * count_nonzero(x)


def copies_to_cpu(x: Tensor) -> Tensor:
    largest = x.cpu().values.max()
    return where(x > largest / 2.0, x, x * 0.0)


def compares_on_the_card(x: Tensor) -> Tensor:
    return where(x + x > x.largest(), x, x * 0.0)


def makes_a_host_tensor(x: Tensor) -> Tensor:
    bias = tensor(x.card, [1.0] * len(x))
    return x + bias


def copies_pinned_memory(x: Tensor) -> Tensor:
    bias = (x * 0.0).copy_(PINNED_ONES)
    return x + bias


def synchronises(x: Tensor) -> Tensor:
    y = x * 2.0
    x.card.synchronize()
    return y + 1.0


def trusts_the_stream(x: Tensor) -> Tensor:
    y = x * 2.0
    return y + 1.0


def leaves_a_stream_unjoined(x: Tensor) -> Tensor:
    side = x.card.stream("side")
    side.wait_stream(x.card.current)
    with x.card.on(side):
        y = x * 2.0
    return y


def joins_the_stream(x: Tensor) -> Tensor:
    side = x.card.stream("side")
    side.wait_stream(x.card.current)
    with x.card.on(side):
        y = x * 2.0
    x.card.current.wait_stream(side)
    return y


@dataclass(frozen=True)
class Hazard:
    """A step that cannot be captured, and the same step mended.

    waits : whether it makes the host wait for the card
    """

    name: str
    broken: Step
    mended: Step
    waits: bool


HAZARDS = (
    Hazard(".item()", reads_item, decides_on_the_card, True),
    Hazard("nonzero()", selects_nonzero, counts_on_the_card, True),
    Hazard(".cpu()", copies_to_cpu, compares_on_the_card, True),
    Hazard("a host tensor", makes_a_host_tensor, copies_pinned_memory, False),
    Hazard("synchronize()", synchronises, trusts_the_stream, True),
    Hazard("an unjoined stream", leaves_a_stream_unjoined, joins_the_stream, False),
)
