"""Tensors of the emulated card: a name in Python for a place in memory, and launches on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from core.lab.card import Card
from core.lab.graph import Node
from core.lab.storage import Place
from core.records import FloatArray, IntArray


@dataclass(eq=False)
class HostTensor:
    """Values in host memory; only pinned memory has an address that a capture may keep."""

    values: FloatArray
    pinned: bool = False


def _write(out: FloatArray, value: FloatArray | float) -> None:
    out[...] = value


Source: TypeAlias = "Tensor | HostTensor | Sequence[float] | Sequence[Sequence[float]]"


class Tensor:
    """A tensor on the card. Each operation is a launch; reading a value makes the host wait."""

    def __init__(self, card: Card, place: Place) -> None:
        self.card = card
        self.place = place

    @property
    def address(self) -> int:
        return self.place.address

    def __len__(self) -> int:
        return self.place.shape[0]

    def __getitem__(self, rows: slice) -> Tensor:
        start, stop, _ = rows.indices(len(self))
        return Tensor(self.card, self.place.rows(start, stop))

    def fill_(self, value: float) -> Tensor:
        self.card.submit(Node("fill_", _write, (self.place,), (), (float(value),)))
        return self

    def copy_(self, source: Source) -> Tensor:
        """Write the source's values into this tensor's own memory.

        Raises RuntimeError for pageable host memory while capturing.
        """
        if isinstance(source, Tensor):
            self.card.submit(Node("copy_", _write, (self.place,), (source.place,)))
            return self
        host = (
            source if isinstance(source, HostTensor) else HostTensor(np.array(source, np.float64))
        )
        if self.card.recorder_of(self.card.current) is not None and not host.pinned:
            raise RuntimeError(
                "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU "
                "tensor is pinned."
            )
        # Pageable memory is staged at the call; pinned memory is read when the copy runs.
        values = host.values if host.pinned else host.values.copy()
        self.card.submit(Node("copy from host", lambda out: _write(out, values), (self.place,)))
        return self

    def clone(self) -> Tensor:
        return empty(self.card, self.place.shape).copy_(self)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return self._binary("multiply", np.multiply, other)

    def __add__(self, other: Tensor | float) -> Tensor:
        return self._binary("add", np.add, other)

    def __gt__(self, other: Tensor | float) -> Tensor:
        return self._binary("greater", np.greater, other)

    def largest(self) -> Tensor:
        """The largest element in every place."""
        return self._unary("max", np.max)

    def _binary(
        self, name: str, function: Callable[..., FloatArray], other: Tensor | float
    ) -> Tensor:
        result = empty(self.card, self.place.shape)
        reads, parameters = (self.place,), ()
        if isinstance(other, Tensor):
            reads = (self.place, other.place)
        else:
            parameters = (float(other),)

        def kernel(out: FloatArray, *operands: FloatArray | float) -> None:
            out[...] = function(*operands)

        self.card.submit(Node(name, kernel, (result.place,), reads, parameters))
        return result

    def _unary(self, name: str, function: Callable[[FloatArray], Any]) -> Tensor:
        result = empty(self.card, self.place.shape)

        def kernel(out: FloatArray, values: FloatArray) -> None:
            out[...] = function(values)

        self.card.submit(Node(name, kernel, (result.place,), (self.place,)))
        return result

    def item(self) -> float:
        """The only value, on the host."""
        return float(self.card.read(self.place).item())

    def tolist(self) -> list[float]:
        return self.card.read(self.place).tolist()

    def cpu(self) -> HostTensor:
        return HostTensor(self.card.read(self.place))

    def nonzero(self) -> IntArray:
        """Indices of what is not 0; how many there are only the values tell, so the host waits."""
        return np.flatnonzero(self.card.read(self.place)).astype(np.int64)


def count_nonzero(x: Tensor) -> Tensor:
    """How many elements are not 0, in every place; the count stays on the card."""
    return x._unary("count_nonzero", np.count_nonzero)


def where(mask: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """yes where the mask is not 0, else no; decided on the card, at each replay anew."""
    result = empty(mask.card, mask.place.shape)

    def kernel(out: FloatArray, m: FloatArray, a: FloatArray, b: FloatArray) -> None:
        out[...] = np.where(m != 0, a, b)

    reads = (mask.place, yes.place, no.place)
    mask.card.submit(Node("where", kernel, (result.place,), reads))
    return result


def empty(card: Card, shape: tuple[int, ...]) -> Tensor:
    """New memory; allocating launches nothing."""
    return Tensor(card, card.storage.allocate(shape))


def tensor(card: Card, values: Sequence[float]) -> Tensor:
    """Values copied in from the host."""
    return empty(card, (len(values),)).copy_(values)
