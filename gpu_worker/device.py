"""Which cards are here, and the facts of the one in use. Listing needs no torch."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.records import DeviceInfo

if TYPE_CHECKING:
    import torch

CPU_KIND = "cpu"
COPY_BYTES = 2 * 2**30
"""Buffer copied to find the card's own bandwidth [bytes]; many times any L2 cache."""
COPY_SAMPLES = 20


@dataclass(frozen=True)
class Card:
    """A visible device. index counts as CUDA_VISIBLE_DEVICES leaves it; None for the CPU."""

    kind: str
    name: str
    index: int | None


def kind_of(name: str) -> str:
    """A device's name as a word for queues: "NVIDIA H200" -> "nvidia-h200"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def cpu_card() -> Card:
    """The processor, for machines without a card."""
    return Card(CPU_KIND, cpu_name(), None)


def cpu_name() -> str:
    """The processor's name as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def list_cards() -> list[Card]:
    """Visible CUDA devices by the driver's own count; empty without a driver.

    Asks libcuda directly, so that the supervisor neither imports torch nor makes a context.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    cards = []
    for index in range(count.value):
        handle = ctypes.c_int()
        text = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(handle), index)
        driver.cuDeviceGetName(text, 256, handle)
        name = text.value.decode(errors="replace")
        cards.append(Card(kind_of(name), name, index))
    return cards


def environment_for(card: Card) -> dict[str, str]:
    """Environment of a child that shall see this card alone."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = [part.strip() for part in visible.split(",") if part.strip()]
    if card.index is None:
        chosen = ""
    else:
        chosen = names[card.index] if card.index < len(names) else str(card.index)
    return {**os.environ, "CUDA_VISIBLE_DEVICES": chosen}


def describe(device: torch.device) -> DeviceInfo:
    """The device as a record; on a card with the copy bandwidth measured now."""
    import torch

    if device.type != "cuda":
        return DeviceInfo(
            kind=CPU_KIND,
            name=cpu_name(),
            graphs=False,
            torch=torch.__version__,
            host=platform.node(),
        )
    properties = torch.cuda.get_device_properties(device)
    copy_gbps = measure_copy_gbps(device)
    # Read after the copies: an idle card reports its idle clock.
    driver, clock, throttle = _smi(str(properties.uuid))
    return DeviceInfo(
        kind=kind_of(properties.name),
        name=properties.name,
        graphs=True,
        total_bytes=properties.total_memory,
        driver=driver,
        torch=torch.__version__,
        cuda=torch.version.cuda,
        triton=triton_version(),
        copy_gbps=round(copy_gbps, 1),
        clock_mhz=clock,
        throttle=throttle,
        host=platform.node(),
    )


def free_bytes(device: torch.device) -> int | None:
    """Memory that the card, or for the CPU the host, has free now [bytes]; None: not known."""
    import torch

    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def triton_version() -> str | None:
    """None where Triton is not installed."""
    try:
        import triton
    except ImportError:
        return None
    return str(triton.__version__)


def measure_copy_gbps(device: torch.device) -> float:
    """Device-to-device copy bandwidth, read plus written, median of 20 [GB/s]."""
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    num_bytes = min(COPY_BYTES, free // 4)
    source = torch.empty(num_bytes, dtype=torch.uint8, device=device).random_(0, 255)
    target = torch.empty_like(source)
    times = []
    for _ in range(COPY_SAMPLES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    del source, target
    torch.cuda.empty_cache()
    return 2 * num_bytes / (sorted(times)[len(times) // 2] * 1e-3) / 1e9


def _smi(uuid: str) -> tuple[str | None, int | None, str | None]:
    """Driver, SM clock [MHz] and active throttle reasons, as nvidia-smi tells; else None."""
    fields = "driver_version,clocks.sm,clocks_throttle_reasons.active"
    gpu = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    try:
        answer = subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "-i", gpu],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        driver, clock, reasons = (part.strip() for part in answer.stdout.strip().split(","))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None, None, None
    return driver, int(clock) if clock.isdigit() else None, throttle_text(reasons)


# Bits of NVML's clocks-event reasons that mean "slower than asked" (nvml.h).
THROTTLE_BITS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


def throttle_text(reasons: str) -> str | None:
    """NVML's bit mask in words: "none", or the reasons; None if it is no mask."""
    try:
        mask = int(reasons, 16)
    except ValueError:
        return None
    words = [text for bit, text in THROTTLE_BITS.items() if mask & bit]
    return ", ".join(words) or "none"
