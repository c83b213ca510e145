"""What cards can do at best, from their makers' data sheets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import SettingError


@dataclass(frozen=True)
class Card:
    """Peak figures; a real step reaches a share of them.

    memory_mib : as the driver reports it [MiB]
    bandwidth_gbps : device memory [GB/s, 10**9]
    tflops : dense bf16 with float32 sums [10**12/s]
    """

    name: str
    memory_mib: int
    bandwidth_gbps: float
    tflops: float

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * 2**20


CARDS = {
    card.name: card
    for card in (
        Card("B200", 183_359, 8_000, 2_250),
        Card("H200", 143_771, 4_800, 989),
        Card("GH200 96GB", 97_871, 4_000, 989),
        Card("H100 SXM", 81_559, 3_350, 989),
        Card("H100 PCIe", 81_559, 2_000, 756),
        Card("A100 80GB", 81_920, 2_039, 312),
        Card("A100 40GB", 40_960, 1_555, 312),
        Card("L40S", 46_068, 864, 362),
        Card("A10", 23_028, 600, 125),
        Card("L4", 23_034, 300, 121),
        Card("RTX 4090", 24_564, 1_008, 165),
        Card("MI300X", 196_592, 5_300, 1_307),
    )
}


def card_named(name: str) -> Card:
    """The card of that name, whatever the case. Raises SettingError that lists the known ones."""
    for card in CARDS.values():
        if card.name.lower() == name.strip().lower():
            return card
    raise SettingError(f"No card is called {name!r}; known are {', '.join(CARDS)}.")


def memory_of_device(device_name: str) -> int | None:
    """The most memory that a device of this name can have, as its driver names it [bytes].

    A size in the name counts ("NVIDIA A100-SXM4-80GB"), else the card that is called just so: a
    name with more words may be a card with other memory. None where neither tells.
    """
    named = re.search(r"\b(\d+)\s?GB?\b", device_name)
    if named is not None:
        return int(named[1]) * 2**30
    bare = re.sub(r"\b(NVIDIA|AMD|GeForce|Instinct)\s+", "", device_name.strip())
    found = [card for card in CARDS.values() if card.name.lower() == bare.lower()]
    return found[0].memory_bytes if found else None
