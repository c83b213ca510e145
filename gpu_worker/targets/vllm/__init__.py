"""vLLM (V1, 0.11 on) as an engine to measure, in this process; tested on 0.23.

The release that is installed beside the worker decides names: a setting that it does not have is
refused with a sentence, and what it does not tell is left out and said so.
"""

from __future__ import annotations

from core.records import DeviceInfo, EngineSpec, ModelShape
from gpu_worker.driven.contract import Driver

NAME = "vLLM"


def start(engine: EngineSpec, model: ModelShape, seed: int) -> Driver:
    """Start it. Raises SettingError (not installed, another release, a setting or folder refused)
    or whatever the engine raises."""
    from gpu_worker.targets.vllm.driver import start_engine

    return start_engine(engine, model, seed)


def device() -> DeviceInfo:
    """The card that the engine runs on, described before it took its memory."""
    from gpu_worker.targets.vllm.driver import described_device

    return described_device()
