"""The inputs that graphs read: fixed addresses, filled by one copy before every replay."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from core.errors import JobError

ALIGNMENT = 256
"""Every field starts at a multiple of this [bytes], as an allocation of its own would."""


class ReboundInputError(JobError):
    """An input no longer lies where the graphs read it."""


class StaticInputs:
    """One tensor a field with room for the largest batch; buckets are views of its first rows.

    All fields lie in one allocation, so that a step costs one copy and not one a field.
    """

    def __init__(
        self,
        fields: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        padding: Mapping[str, int],
        max_size: int,
        device: torch.device,
    ) -> None:
        self.max_size = max_size
        self.device = device
        self._fields = dict(fields)
        self._padding = dict(padding)
        self._places: dict[str, tuple[int, int]] = {}
        end = 0
        for name, (shape, dtype) in fields.items():
            num_bytes = max_size * _count(shape) * dtype.itemsize
            self._places[name] = (end, end + num_bytes)
            end += -(-num_bytes // ALIGNMENT) * ALIGNMENT
        self._storage = torch.empty(end, dtype=torch.uint8, device=device)
        self.tensors = self._split(self._storage)
        for name, tensor in self.tensors.items():
            tensor.fill_(padding[name])
        self._addresses = {name: t.data_ptr() for name, t in self.tensors.items()}

    def views(self, size: int) -> dict[str, torch.Tensor]:
        """The first `size` rows of every input; no copy."""
        return {name: tensor[:size] for name, tensor in self.tensors.items()}

    def stage(
        self, batch: Mapping[str, torch.Tensor], into: torch.Tensor | None = None
    ) -> torch.Tensor:
        """A batch laid out for copy_in, on the host; pinned where there is a card.

        Rows that the batch does not have are padding, all of them: a row left from the step
        before would still point at some request's blocks.
        into : an earlier result to be written over; only once its copy is done
        """
        staged = self.empty_staged() if into is None else into
        for name, tensor in self._split(staged).items():
            live = len(batch[name])
            tensor[:live] = batch[name]
            tensor[live:] = self._padding[name]
        return staged

    def empty_staged(self) -> torch.Tensor:
        """Host memory for one staged batch; pinned where there is a card."""
        pin = self._storage.is_cuda
        return torch.empty(len(self._storage), dtype=torch.uint8, pin_memory=pin)

    def copy_in(self, staged: torch.Tensor) -> None:
        """Fill all inputs on the current stream; the host does not wait."""
        self._storage.copy_(staged, non_blocking=True)

    def check_addresses(self) -> None:
        """Raises ReboundInputError, naming the input, if a tensor was replaced."""
        for name, address in self._addresses.items():
            if self.tensors[name].data_ptr() != address:
                raise ReboundInputError(
                    f"Input {name!r} was bound to another tensor after capture; graphs still read "
                    "the old one. Copy into the buffer instead of replacing it."
                )

    def _split(self, storage: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            name: storage[slice(*self._places[name])].view(dtype).view(self.max_size, *shape)
            for name, (shape, dtype) in self._fields.items()
        }


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count
