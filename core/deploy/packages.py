"""Releases that a script or Dockerfile installs: `pip install vllm==0.9.1`."""

from __future__ import annotations

import re

_NAMES = {
    "vllm": "vllm",
    "vllm-ascend": "ascend",
    "sglang": "sglang",
    "tensorrt-llm": "trtllm",
    "lmdeploy": "lmdeploy",
    "fastdeploy-gpu": "fastdeploy",
}
_PINNED = re.compile(
    r"(?<![\w.-])(vllm-ascend|vllm|sglang|tensorrt[-_]llm|lmdeploy|fastdeploy-gpu)(?:\[[^\]]*\])?"
    r"={2,3}v?(\d[\w.]*)",
    re.IGNORECASE,
)


def installed(text: str) -> dict[str, str]:
    """{engine id: release} of what a text pins; the last one where there are several."""
    return {_NAMES[m[1].lower().replace("_", "-")]: m[2] for m in _PINNED.finditer(text)}
