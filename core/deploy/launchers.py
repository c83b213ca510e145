"""Commands that start an engine: which words they are, and where its arguments begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.deploy.marks import is_marked


@dataclass(frozen=True)
class Launcher:
    """pattern : one regular expression a word; model : whether a model may follow by itself."""

    engine: str
    pattern: tuple[str, ...]
    model: bool = True


_PATH = r"(?:\S*/)?"

LAUNCHERS = (
    Launcher("vllm", (rf"{_PATH}vllm", "serve")),
    Launcher("vllm", (rf"{_PATH}vllm", "bench", r"latency|throughput|startup"), model=False),
    Launcher("vllm", (r"vllm\.entrypoints\.(?:\w+\.)*api_server",), model=False),
    Launcher("vllm", (rf"{_PATH}vllm/entrypoints/(?:\w+/)*api_server\.py",), model=False),
    Launcher("vllm", (r"dynamo\.vllm(?:\.\w+)*",), model=False),
    Launcher("sglang", (r"sglang\.launch_server",), model=False),
    Launcher("sglang", (rf"{_PATH}sglang/launch_server\.py",), model=False),
    Launcher("sglang", (rf"{_PATH}sglang", "serve")),
    Launcher("sglang", (r"sglang\.bench_(?:one_batch|offline_throughput|latency)",), model=False),
    Launcher("sglang", (r"dynamo\.sglang(?:\.\w+)*",), model=False),
    Launcher("trtllm", (rf"{_PATH}trtllm-serve", "serve")),
    Launcher("trtllm", (rf"{_PATH}trtllm-serve",)),
    Launcher("trtllm", (rf"{_PATH}trtllm-bench",), model=False),
    Launcher("trtllm", (r"tensorrt_llm\.commands\.serve",)),
    Launcher("trtllm", (r"dynamo\.trtllm(?:\.\w+)*",), model=False),
    Launcher("tgi", (rf"{_PATH}text-generation-launcher",), model=False),
    Launcher("lmdeploy", (rf"{_PATH}lmdeploy", "serve", "api_server")),
    Launcher("fastdeploy", (r"fastdeploy\.entrypoints\.(?:\w+\.)*api_server",), model=False),
    Launcher("mini-sglang", (r"minisgl",), model=False),
)

_NAMES = ("vllm", "sgl", "trtllm", "tensorrt_llm", "text-generation-l", "deploy")
"""Every launcher's first word holds one of these."""

_NOT_ENGINES = ("disaggregated", "mm_embedding_serve")
"""Sub-commands of trtllm-serve that start a proxy."""

_VARIANTS = {
    "gaudi": re.compile(r"^(?:HABANA_|PT_HPU_|VLLM_(?:\w*BUCKET|SKIP_WARMUP|GRAPH_RESERVED))"),
    "ascend": re.compile(r"^(?:ASCEND_|VLLM_ASCEND_)"),
}


@dataclass(frozen=True)
class Launch:
    """engine : its id; words : the launcher as written; model : or empty; rest : its arguments."""

    engine: str
    words: tuple[str, ...]
    model: str
    rest: tuple[str, ...]


def find_launch(words: Sequence[str]) -> Launch | None:
    """The first launcher among the words of a command; None where there is none."""
    for at, word in enumerate(words):
        if not any(name in word for name in _NAMES):
            continue
        for launcher in LAUNCHERS:
            end = at + len(launcher.pattern)
            if len(words) >= end and _fits(launcher.pattern, words[at:end]):
                return _launch(launcher, words, at, end)
    return None


def mentions_launcher(text: str) -> bool:
    """Whether a text holds the words of some launcher; for longer texts than one command."""
    return find_launch(re.split(r"[\s\"'`,;&|()\[\]{}=\\]+", text)) is not None


def variant(engine: str, env: Iterable[str]) -> str:
    """vLLM on other hardware, by the variables that only its plug-in reads."""
    if engine == "vllm":
        for other, pattern in _VARIANTS.items():
            if any(pattern.match(name) for name in env):
                return other
    return engine


def _fits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    return all(re.fullmatch(one, word) for one, word in zip(pattern, words, strict=True))


def _launch(launcher: Launcher, words: Sequence[str], at: int, end: int) -> Launch | None:
    rest = list(words[end:])
    if launcher.engine == "trtllm" and rest[:1] and rest[0] in _NOT_ENGINES:
        return None
    model = ""
    if launcher.model and rest and not rest[0].startswith("-"):
        model = rest.pop(0)
        model = "MODEL" if is_marked(model) else model
    return Launch(launcher.engine, tuple(words[at:end]), model, tuple(rest))
