"""Which layer of an engine a stack points to.

The frame nearest to the failure decides; a layer that only stands further out called the one that
failed. Native errors come up later than their kernel, so a layer is a place to begin, no proof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from core.failures.call_sites import CallSite, is_engine, is_own


class Layer(StrEnum):
    """Parts of an engine that can be switched off, and the user's own operation."""

    ENCODER = "encoder graphs"
    FUSION = "fusion pass"
    CUSTOM_ALL_REDUCE = "custom all-reduce"
    MOE = "MoE or quantised kernel"
    ATTENTION = "attention backend"
    NCCL = "NCCL"
    COMPILE = "torch.compile"
    USER_OP = "user op"


_SIGNS: tuple[tuple[Layer, re.Pattern[str]], ...] = tuple(
    (layer, re.compile(pattern, re.IGNORECASE))
    for layer, pattern in (
        (Layer.ENCODER, r"encoder_?cuda_?graph|vit_?cuda_?graph|encoder[ _]?cudagraph"),
        (
            Layer.FUSION,
            r"allreduce_?(?:rms_?)?fusion|all_?reduce_fusion|fused_allreduce|collective_fusion"
            r"|passes/fusion|fusion_pass|fusion_attn|flashinfer_trtllm_fused|allreduce_fused",
        ),
        (
            Layer.CUSTOM_ALL_REDUCE,
            r"custom_?all_?reduce|custom_ar\b|\bca_comm|quick_?all_?reduce"
            r"|symm_mem|cross_device_reduce|twoShotAllReduce|oneShotAllReduce",
        ),
        (
            Layer.MOE,
            r"fused_moe|[_/]moe[_/.]|\bmoe_|deep_?gemm|marlin|deep_?ep\b|cutlass_scaled|grouped_?gemm"
            r"|layers/quantization|gptq|\bawq|scaled_mm|w8a8",
        ),
        (
            Layer.ATTENTION,
            r"/attention/|attention_|flash_?attn|flash_?infer|flash_?mla|paged_?att|_attn\b|fmha"
            r"|attn_backend|attention_kernel|mla_decode|BatchDecode|BatchPrefill",
        ),
        (
            Layer.NCCL,
            r"\bnccl[A-Z]|libnccl|pynccl|ProcessGroupNCCL|torch/distributed/|parallel_state"
            r"|communication_op|cuda_communicator|\bNCCL\b",
        ),
        (
            Layer.COMPILE,
            r"_dynamo|_inductor|torchinductor|eval_with_key|InductorError"
            r"|(?:vllm|sglang\S*)/compilation/(?!cuda_graph|piecewise_backend|monitor|wrapper|decorators)",
        ),
    )
)
_CALLS_KERNEL = re.compile(r"\bops\.|\b_C\b|_C\.|torch\.ops|kernel\[|_kernel\(")


def layer_in(text: str) -> Layer | None:
    """The layer that a line of a native stack, a path or a function names."""
    return next((layer for layer, pattern in _SIGNS if pattern.search(text)), None)


def layer_of(sites: Sequence[CallSite]) -> tuple[Layer, CallSite] | None:
    """The layer of a traceback, and the frame that shows it.

    sites : outermost first
    """
    in_engine = False
    for site in reversed(sites):
        layer = layer_in(f"{site.file} {site.function}")
        if layer is None and _CALLS_KERNEL.search(site.code):
            layer = layer_in(site.code)
        # Every forward of a compiled model runs below the compiler's frames; and a script that
        # started the engine stands outside of it.
        if layer is not None and not (in_engine and layer is Layer.COMPILE):
            return layer, site
        if is_own(site) and not in_engine:
            return Layer.USER_OP, site
        in_engine = in_engine or is_engine(site)
    return None
