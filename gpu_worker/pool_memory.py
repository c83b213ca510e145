"""How many bytes graphs take: in the allocator's pools, and in the driver outside of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Level:
    """Memory at one moment [bytes]. reserved: held by the allocator; used: of the whole card."""

    reserved: int
    used: int


def level(device: torch.device) -> Level:
    """Now. Frees cached blocks first, so that two levels differ by what is really held."""
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info(device)
    return Level(torch.cuda.memory_reserved(device), total - free)


def pool_bytes(pool: tuple[int, int], device: torch.device) -> int:
    """What the allocator holds for one graph pool [bytes]."""
    return sum(
        segment["total_size"]
        for segment in torch.cuda.memory_snapshot()
        if tuple(segment["segment_pool_id"]) == tuple(pool) and segment["device"] == device.index
    )


def driver_bytes(before: Level, after: Level) -> int:
    """What the card lost beyond the allocator's share [bytes]: graph nodes, kernel code.

    The driver takes memory in steps of 2 MiB or more, so that most graphs show 0 and some the
    step; sums over a list are meaningful, single rows are coarse.
    """
    return max(0, (after.used - before.used) - (after.reserved - before.reserved))
