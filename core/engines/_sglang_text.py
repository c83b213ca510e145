"""SGLang's flags, start-up messages and exports, 0.4.6 to 0.5.23."""

from __future__ import annotations

from collections.abc import Callable

from core.engines._sglang_limits import ATTN_DP_FLAG
from core.engines.export import ExportForm, flag, json_flag
from core.engines.options import Form, Option
from core.engines.plan import StepKind
from core.engines.startup_log import LogRule, sizes, yes
from core.engines.versions import Release

NEW_NAMES = "0.5.14"
OLD_NAMES_GONE = "0.5.20"
CONFIG = "cuda_graph_config"


def _old(path: str, setting: str | None, instead: str, form: Form = Form.VALUE) -> Option:
    """A name that became an alias in 0.5.14 and went in 0.5.20."""
    return Option(path, setting, form, deprecated=NEW_NAMES, until=OLD_NAMES_GONE, instead=instead)


def _off(phase: str) -> Option:
    """--disable-PHASE-cuda-graph."""
    target = {
        "prefill": {"prefill_backend": "disabled"},
        "decode": {"disable_decode_cuda_graph": True},
    }
    return Option(
        f"disable_{phase}_cuda_graph",
        form=Form.SWITCH,
        since=NEW_NAMES,
        convert=lambda _: target[phase],
    )


def _decode_backend(value: str) -> dict[str, object]:
    return {"disable_decode_cuda_graph": value == "disabled"}


def _prefill(kind: str) -> Callable[[object], dict[str, object]]:
    return lambda _: {"prefill_backend": kind}


def _enforced(_: object) -> dict[str, object]:
    return {"prefill_backend": "tc_piecewise", "enforce_piecewise_cuda_graph": True}


ALGORITHMS = ("none", "EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "other")
"""Ways to draft; "other" stands for one that this list does not name (all reset the limit)."""


def algorithm(value: object) -> str:
    """The listed name of an algorithm, "other" for one that is not listed."""
    known = {name.lower(): name for name in ALGORITHMS}
    return known.get(str(value).strip().lower(), "other")


# JSON wins over per-phase flags, those over the older names: the order here.
OPTIONS = (
    Option(CONFIG, form=Form.JSON, since=NEW_NAMES),
    Option(f"{CONFIG}.decode.bs", "cuda_graph_bs"),
    Option(f"{CONFIG}.decode.max_bs", "cuda_graph_max_bs"),
    Option(f"{CONFIG}.decode.backend", convert=_decode_backend),
    Option(f"{CONFIG}.prefill.bs", "cuda_graph_bs_prefill"),
    Option(f"{CONFIG}.prefill.max_bs", "cuda_graph_max_bs_prefill"),
    Option(f"{CONFIG}.prefill.backend", "prefill_backend"),
    *(
        Option(f"{CONFIG}.prefill.{key}")
        for key in ("max_context_size", "full_prefill_max_req", "max_seq_len")
    ),
    Option(f"{CONFIG}.prefill.full_prefill_prefix_chunk_tokens"),
    Option("cuda_graph_bs_decode", "cuda_graph_bs", Form.LIST, since=NEW_NAMES),
    Option("cuda_graph_max_bs_decode", "cuda_graph_max_bs", since=NEW_NAMES),
    Option("cuda_graph_bs_prefill", "cuda_graph_bs_prefill", Form.LIST, since=NEW_NAMES),
    Option("cuda_graph_max_bs_prefill", "cuda_graph_max_bs_prefill", since=NEW_NAMES),
    Option("cuda_graph_backend_prefill", "prefill_backend", since=NEW_NAMES),
    Option("cuda_graph_backend_decode", since=NEW_NAMES, convert=_decode_backend),
    Option("cuda_graph_max_seq_len_prefill", since=NEW_NAMES),
    Option("cuda_graph_prefill_max_context", since=NEW_NAMES),
    _old("cuda_graph_bs", "cuda_graph_bs", "--cuda-graph-bs-decode", Form.LIST),
    _old("cuda_graph_max_bs", "cuda_graph_max_bs", "--cuda-graph-max-bs-decode"),
    _old(
        "piecewise_cuda_graph_tokens",
        "cuda_graph_bs_prefill",
        "--cuda-graph-bs-prefill",
        Form.LIST,
    ),
    _old(
        "piecewise_cuda_graph_max_tokens",
        "cuda_graph_max_bs_prefill",
        "--cuda-graph-max-bs-prefill",
    ),
    _old("piecewise_cuda_graph_compiler", None, "--cuda-graph-backend-prefill"),
    Option(
        "enable_piecewise_cuda_graph",
        form=Form.SWITCH,
        deprecated=NEW_NAMES,
        until=OLD_NAMES_GONE,
        instead="--cuda-graph-backend-prefill",
        convert=_prefill("tc_piecewise"),
    ),
    _off("prefill"),
    _off("decode"),
    Option("disable_cuda_graph", "disable_cuda_graph", Form.SWITCH),
    Option("disable_cuda_graph_padding", "disable_cuda_graph_padding", Form.SWITCH),
    *(
        Option(name, form=Form.SWITCH)
        for name in ("enable_profile_cuda_graph", "enable_cudagraph_gc", "debug_cuda_graph")
    ),
    Option("disable_piecewise_cuda_graph", form=Form.SWITCH, convert=_prefill("disabled")),
    Option("enforce_piecewise_cuda_graph", form=Form.SWITCH, convert=_enforced),
    Option("max_running_requests", "max_running_requests"),
    Option("chunked_prefill_size", "chunked_prefill_size"),
    Option("max_total_tokens", "max_total_tokens"),
    Option("tp_size", "tp_size", aliases=("tensor_parallel_size", "tp")),
    Option("dp_size", "dp_size", aliases=("data_parallel_size", "dp")),
    Option("pp_size", "pp_size", aliases=("pipeline_parallel_size", "pp")),
    Option("enable_dp_attention", "enable_dp_attention", Form.SWITCH),
    Option("enable_two_batch_overlap", "enable_two_batch_overlap", Form.SWITCH),
    Option("attn_dp_size", "attn_dp_size", since=ATTN_DP_FLAG),
    Option("attn_cp_size", "attn_cp_size", aliases=("attention_context_parallel_size",)),
    Option("disaggregation_mode", "disaggregation_mode"),
    Option("speculative_algorithm", "speculative_algorithm", convert=algorithm),
    Option("speculative_num_steps", "speculative_num_steps"),
    Option("speculative_eagle_topk", "speculative_eagle_topk"),
    Option("speculative_num_draft_tokens", "num_draft_tokens"),
    Option("enable_lora", "enable_lora", Form.SWITCH),
)

MARKER = r"Capture (?:target |draft |cuda graph|piecewise)|server_args=ServerArgs"
_LIST = r"\[([\d, ]*)\]"
_DECODE = r"Capture target (?:decode|verify) CUDA graph"

RULES = (
    LogRule(rf"Capture cuda graph bs {_LIST}", "captured", sizes),
    LogRule(rf"{_DECODE} (?:begin|end)\.[^\n]*?\bbs={_LIST}", "captured", sizes),
    LogRule(rf"Capture cuda graph num tokens {_LIST}", "prefill", sizes),
    LogRule(
        rf"Capture target prefill CUDA graph begin\.[^\n]*num_tokens={_LIST}", "prefill", sizes
    ),
    LogRule(r"\bmax_running_requests=(\d+)", "settings.max_running_requests", int),
    LogRule(r"\bchunked_prefill_size=(\d+)", "settings.chunked_prefill_size", int),
    LogRule(r"\btp_size=(\d+)", "settings.tp_size", int),
    LogRule(r"\bdp_size=(\d+)", "settings.dp_size", int),
    LogRule(r"\bpp_size=(\d+)", "settings.pp_size", int),
    LogRule(r"\benable_dp_attention=(True|False)", "settings.enable_dp_attention", yes),
    LogRule(r"\benable_two_batch_overlap=(True|False)", "settings.enable_two_batch_overlap", yes),
    LogRule(
        r"\bdisable_cuda_graph_padding=(True|False)", "settings.disable_cuda_graph_padding", yes
    ),
    LogRule(r"\bdisable_cuda_graph=(True|False)", "settings.disable_cuda_graph", yes),
    LogRule(r"\bspeculative_num_draft_tokens=(\d+)", "settings.num_draft_tokens", int),
    LogRule(r"\bspeculative_algorithm='(\w+)'", "settings.speculative_algorithm", algorithm),
    LogRule(r"\bdisaggregation_mode='(\w+)'", "settings.disaggregation_mode", str),
    LogRule(r"Capture cuda graph end\. Time elapsed: ([\d.]+) s", "facts.capture_s", float),
    LogRule(rf"{_DECODE} end\.[^\n]*elapsed=([\d.]+) s", "facts.capture_s", float),
    LogRule(r"Capture cuda graph end\.[^\n]*mem usage=([\d.]+) GB", "facts.graph_gib", float),
    LogRule(rf"{_DECODE} end\.[^\n]*mem usage=([\d.]+) GB", "facts.graph_gib", float),
    LogRule(r"\bmax_total_num_tokens=(\d+)", "facts.kv_tokens", int),
)


def sglang_forms(version: str, sizes: tuple[int, ...], kind: StepKind) -> tuple[ExportForm, ...]:
    """The flag of the release; from 0.5.14 also its JSON."""
    release = Release(version)
    phase = kind.value
    if release >= NEW_NAMES:
        backend = "full" if kind is StepKind.DECODE else "breakable"
        config = {phase: {"backend": backend, "bs": list(sizes)}}
        return (flag(f"--cuda-graph-bs-{phase}", sizes), json_flag("--cuda-graph-config", config))
    if kind is StepKind.DECODE:
        return (flag("--cuda-graph-bs", sizes),)
    if release < "0.5.5":
        return ()
    tokens = flag("--piecewise-cuda-graph-tokens", sizes).text
    return (ExportForm("flag", f"--enable-piecewise-cuda-graph {tokens}"),)
