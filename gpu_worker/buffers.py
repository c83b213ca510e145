"""The inputs that graphs read: fixed addresses, filled before every replay."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from core.errors import JobError


class ReboundInputError(JobError):
    """An input no longer lies where the graphs read it."""


class StaticInputs:
    """One tensor a field with room for the largest batch; buckets are views of its first rows."""

    def __init__(
        self,
        fields: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        padding: Mapping[str, int],
        max_size: int,
        device: torch.device,
    ) -> None:
        self.max_size = max_size
        self._padding = dict(padding)
        self.tensors = {
            name: torch.full((max_size, *shape), padding[name], dtype=dtype, device=device)
            for name, (shape, dtype) in fields.items()
        }
        self._addresses = {name: t.data_ptr() for name, t in self.tensors.items()}

    def views(self, size: int) -> dict[str, torch.Tensor]:
        """The first `size` rows of every input; no copy."""
        return {name: tensor[:size] for name, tensor in self.tensors.items()}

    def stage(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """A batch as it is ready to be copied in: right dtype, pinned where there is a card."""
        staged = {}
        for name, tensor in self.tensors.items():
            part = batch[name].to(tensor.dtype).contiguous()
            staged[name] = part.pin_memory() if tensor.is_cuda else part
        return staged

    def copy_in(self, batch: Mapping[str, torch.Tensor], size: int) -> None:
        """Fill the first rows; rows up to `size` that are not in the batch become padding."""
        for name, tensor in self.tensors.items():
            live = len(batch[name])
            tensor[:live].copy_(batch[name], non_blocking=True)
            if live < size:
                # A row left from the last step would still point at some request's blocks.
                tensor[live:size].fill_(self._padding[name])

    def check_addresses(self) -> None:
        """Raises ReboundInputError, naming the input, if a tensor was replaced."""
        for name, address in self._addresses.items():
            if self.tensors[name].data_ptr() != address:
                raise ReboundInputError(
                    f"Input {name!r} was bound to another tensor after capture; graphs still read "
                    "the old one. Copy into the buffer instead of replacing it."
                )
