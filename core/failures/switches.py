"""What to switch off to find the layer at fault: its flag by engine and release, and the cost.

Facts of the engines' public documentation. How much time a switch costs depends on model and card;
what is said here is which work becomes slower, measured by nobody here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from core.engines.versions import version_key
from core.failures.layers import Layer


@dataclass(frozen=True)
class Switch:
    """One thing to try.

    layer : what it takes out; flag : as it is given to the engine; costs : what becomes slower
    since, before : releases between which the flag is spelt so; "" for no bound
    """

    layer: str
    flag: str
    costs: str
    since: str = ""
    before: str = ""


@dataclass(frozen=True)
class Served:
    """The engine and release that a text names; "" for what it does not."""

    engine: str = ""
    version: str = ""


GRAPHS = "all CUDA graphs"
FULL_GRAPHS = "full graphs"
PREFILL_GRAPHS = "piecewise prefill graphs"
_COSTS = {
    Layer.CUSTOM_ALL_REDUCE: "small all-reduces go through NCCL: slower decode steps with tensor "
    "parallelism, nothing on one card",
    Layer.FUSION: "all-reduce and norm run as two kernels: a few percent of a decode step",
    Layer.ATTENTION: "another kernel, often a slower one, and other limits on full graphs",
    Layer.MOE: "a general kernel instead of the tuned one: slower expert layers",
    Layer.COMPILE: "no generated kernels, and no piecewise graphs where they need the compiler",
    Layer.NCCL: "in-switch reduction is off: slower large all-reduces",
    Layer.ENCODER: "image and video encoding runs eagerly; decode keeps its graphs",
    FULL_GRAPHS: "attention is launched outside of the graph: more launches a decode step",
    PREFILL_GRAPHS: "prompts are computed eagerly; decode keeps its graphs",
    GRAPHS: "every step is launched kernel by kernel: the dearest of all, it only shows whether "
    "graphs are part of it",
}
_NVLS = "environment NCCL_NVLS_ENABLE=0"


def _switches(*rows: tuple[str, ...]) -> tuple[Switch, ...]:
    return tuple(Switch(row[0], row[1], _COSTS[row[0]], *row[2:]) for row in rows)


SWITCHES: dict[str, tuple[Switch, ...]] = {
    "vllm": _switches(
        (Layer.ENCODER, "--compilation-config '{\"cudagraph_mm_encoder\": false}'", "0.18"),
        (Layer.CUSTOM_ALL_REDUCE, "--disable-custom-all-reduce"),
        (
            Layer.FUSION,
            '--compilation-config \'{"pass_config": {"fuse_allreduce_rms": false}}\'',
            "0.12",
        ),
        (
            Layer.FUSION,
            '--compilation-config \'{"pass_config": {"enable_fi_allreduce_fusion": false}}\'',
            "0.10",
            "0.12",
        ),
        (Layer.NCCL, _NVLS),
        (Layer.ATTENTION, "--attention-backend TRITON_ATTN", "0.13"),
        (Layer.ATTENTION, "environment VLLM_ATTENTION_BACKEND=TRITON_ATTN", "0.11", "0.13"),
        (Layer.ATTENTION, "environment VLLM_ATTENTION_BACKEND=XFORMERS", "", "0.11"),
        (Layer.MOE, "environment VLLM_USE_DEEP_GEMM=0", "0.9"),
        (FULL_GRAPHS, '--compilation-config \'{"cudagraph_mode": "PIECEWISE"}\'', "0.10.1"),
        (
            Layer.COMPILE,
            '--compilation-config \'{"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}\'',
            "0.12",
        ),
        (Layer.COMPILE, "--compilation-config '{\"level\": 0}'", "0.8", "0.12"),
        (GRAPHS, "--enforce-eager"),
    ),
    "sglang": _switches(
        (Layer.CUSTOM_ALL_REDUCE, "--disable-custom-all-reduce"),
        (Layer.FUSION, "leave out --enable-flashinfer-allreduce-fusion", "0.5"),
        (Layer.NCCL, f"leave out --enable-nccl-nvls; {_NVLS}"),
        (Layer.ATTENTION, "--attention-backend triton"),
        (Layer.MOE, "--moe-runner-backend triton", "0.5.2"),
        (Layer.COMPILE, "leave out --enable-torch-compile"),
        (PREFILL_GRAPHS, "leave out --enable-piecewise-cuda-graph", "0.5.5", "0.5.14"),
        (PREFILL_GRAPHS, "--disable-prefill-cuda-graph", "0.5.14"),
        (GRAPHS, "--disable-cuda-graph"),
    ),
    "trtllm": _switches(
        (Layer.CUSTOM_ALL_REDUCE, "allreduce_strategy: NCCL", "1.0"),
        (Layer.NCCL, _NVLS),
        (Layer.ATTENTION, "attn_backend: FLASHINFER"),
        (Layer.MOE, "moe_config: {backend: CUTLASS}", "1.0"),
        (Layer.COMPILE, "torch_compile_config: null"),
        (GRAPHS, "cuda_graph_config: null"),
    ),
    "tgi": _switches(
        (Layer.NCCL, _NVLS),
        (Layer.ATTENTION, "environment ATTENTION=paged", "2.2"),
        (GRAPHS, "--cuda-graphs 0"),
    ),
    "lmdeploy": _switches((Layer.NCCL, _NVLS), (GRAPHS, "--eager-mode")),
}
"""In the order of what they cost, cheapest first; the flags of TensorRT-LLM are lines of its YAML
file."""
LABELS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "tgi": "TGI",
    "lmdeploy": "LMDeploy",
}
_PATHS = (
    ("sglang", re.compile(r"(?:^|[/\\])sglang[/\\](?!lib[/\\])|Capture cuda graph failed")),
    ("trtllm", re.compile(r"(?:^|[/\\])tensorrt_llm[/\\]|TensorRT-LLM version")),
    ("tgi", re.compile(r"(?:^|[/\\])text_generation_server[/\\]|text_generation_launcher")),
    ("lmdeploy", re.compile(r"(?:^|[/\\])lmdeploy[/\\]")),
    (
        "vllm",
        re.compile(
            r"(?:^|[/\\])vllm[/\\](?!distributed|lib[/\\])|\bvLLM API server|LLM engine \(v"
        ),
    ),
)
_VERSION = re.compile(
    r"vLLM API server version v?(?P<vllm>\d[\w.]*)|LLM engine \(v(?P<vllm2>\d[\w.]*)"
    r"|vllm-openai:v(?P<vllm3>\d[\w.]*)|lmsysorg/sglang:v(?P<sglang>\d[\w.]*)"
    r"|sglang[ =]*version[ =:]*v?(?P<sglang2>\d[\w.]*)|TensorRT-LLM version:? (?P<trtllm>\d[\w.]*)"
    r"|text-generation-inference:(?P<tgi>\d[\w.]*)",
    re.IGNORECASE,
)


def served_by(line: str, so_far: Served) -> Served:
    """What a line adds to what is known of the engine; the first engine named stands."""
    match = _VERSION.search(line)
    if match and match.lastgroup and not so_far.version:
        engine = match.lastgroup.rstrip("23")
        if so_far.engine in ("", engine):
            return Served(engine, match[match.lastgroup].rstrip("."))
    if so_far.engine:
        return so_far
    found = next((engine for engine, path in _PATHS if path.search(line)), "")
    return replace(so_far, engine=found)


def to_switch_off(served: Served, layer: Layer | None, *, search: bool) -> tuple[Switch, ...]:
    """What to try, in order: the layer that the stack names, then the rest from cheap to dear.

    search : the layer is not certain, so that all others follow; else only the graphs do
    Returns () where neither a layer nor a search is asked for. Without a known engine the flags of
    vLLM and SGLang stand side by side.
    """
    if layer is None and not search:
        return ()
    if layer is Layer.USER_OP and not search:
        return ()
    if not served.engine:
        return _side_by_side(layer, search)
    known = [switch for switch in SWITCHES[served.engine] if _spelt_in(switch, served.version)]
    first = [switch for switch in known if switch.layer == layer]
    rest = [
        switch
        for switch in known
        if switch.layer not in (layer, Layer.ENCODER) and (search or switch.layer == GRAPHS)
    ]
    return (*first, *rest)


def spelt_for(served: Served) -> str:
    """For which engine and release the flags are spelt, as the end of a sentence."""
    if not served.engine:
        return " (the text names no engine)"
    label = LABELS[served.engine]
    if not served.version:
        return f" ({label}; the text names no release, so its newest flags)"
    return f" ({label} {served.version})"


def _side_by_side(layer: Layer | None, search: bool) -> tuple[Switch, ...]:
    of_vllm, of_sglang = (
        to_switch_off(Served(engine), layer, search=search) for engine in ("vllm", "sglang")
    )
    others = {switch.layer: switch.flag for switch in of_sglang}
    return tuple(
        replace(
            switch,
            flag=f"vLLM: {switch.flag}"
            + (f"; SGLang: {others[switch.layer]}" if switch.layer in others else ""),
        )
        for switch in of_vllm
    )


def _spelt_in(switch: Switch, version: str) -> bool:
    """Whether a release spells it so; without a release, the newest spelling."""
    key = version_key(version) if version else None
    if key is None:
        return not switch.before
    since, before = version_key(switch.since or "0"), version_key(switch.before or "main")
    assert since is not None and before is not None, f"{switch} has no release to compare"
    return since <= key < before
