"""SGLang's prefill graphs: their kind, their sizes (tokens), and what switches them off.

Source: server_args.py, cuda_graph_hook.py and the prefill runners of 0.5.4 to 0.5.23, restated.
"""

from __future__ import annotations

from typing import Any

from core.engines import _sglang_limits as limit
from core.engines.ladder import ceil_to, ladder, steps
from core.engines.versions import Release
from core.errors import SettingError

FIRST = "0.5.4"
ON_BY_DEFAULT = "0.5.10"
KINDS = "0.5.14"
BREAKABLE_BY_DEFAULT = "0.5.15"
TWOFOLD_AT_MOST = "0.5.16"
SHARED_CHUNK = "0.5.16"

_OFFERED = (
    # from, until, kind
    (FIRST, "0.5.22", "tc_piecewise"),
    (KINDS, None, "breakable"),
    ("0.5.15", None, "full"),
)


def prefill_kind(release: Release, values: dict[str, Any], notes: list[str]) -> str:
    """The kind of prefill graphs, "disabled" for none; why they are off goes to `notes`.

    Raises SettingError for a kind that the release does not have.
    """
    asked = values["prefill_backend"]
    _check_offered(release, asked)
    if asked == "disabled" or release < FIRST:
        return "disabled"
    if values["disable_cuda_graph"] and _off_with_decode(release, asked):
        return _off("disable_cuda_graph is set", notes)
    return _resolved(release, values, asked, notes)


def _off_with_decode(release: Release, asked: str) -> bool:
    """Whether disable_cuda_graph concerns prefill too: in 0.5.6 to 0.5.13 decode alone."""
    return release < "0.5.6" or (release >= KINDS and asked == "auto")


def _resolved(release: Release, values: dict[str, Any], asked: str, notes: list[str]) -> str:
    """From 0.5.14 a kind that was asked for overrules what would switch it off."""
    if release < ON_BY_DEFAULT and asked == "auto":
        return "disabled"
    if asked != "auto" and (release >= KINDS or values["enforce_piecewise_cuda_graph"]):
        return asked
    kind = "breakable" if release >= BREAKABLE_BY_DEFAULT else "tc_piecewise"
    reasons = _piecewise_off(release, values)
    if release < ON_BY_DEFAULT:
        reasons = _first_off(release, values)
    elif kind == "breakable":
        reasons = _breakable_off(release, values)
    for reason, holds in reasons.items():
        if holds:
            return _off(reason, notes)
    return kind


def _off(reason: str, notes: list[str]) -> str:
    notes.append(f"Prefill graphs are switched off: {reason}.")
    return "disabled"


def _check_offered(release: Release, asked: str) -> None:
    if asked in ("auto", "disabled"):
        return
    kinds = [
        kind
        for since, until, kind in _OFFERED
        if release >= since and (until is None or release < until)
    ]
    if release >= FIRST and asked not in kinds:
        raise SettingError(
            f"SGLang {release} has no prefill backend {asked}; use {' or '.join(kinds)}."
        )


def _first_off(release: Release, values: dict[str, Any]) -> dict[str, bool]:
    """What the workers of 0.5.4 to 0.5.9 do not capture with, although it was asked for."""
    deepep = values["deepep"] and release >= "0.5.7"
    return {"pp_size above 1": values["pp_size"] > 1, "DeepEP": deepep}


def _piecewise_off(release: Release, values: dict[str, Any]) -> dict[str, bool]:
    """What switches graphs of torch.compile off, 0.5.10 to 0.5.14."""
    return {
        "speculation": release < "0.5.11" and limit.speculative(values),
        "data-parallel attention": _shares_attention(release, values),
        "pp_size above 1": values["pp_size"] > 1,
        "DeepEP": values["deepep"],
        "LoRA": values["enable_lora"],
        "a prefill or decode role": values["disaggregation_mode"] != "null",
        "context parallel": values["attn_cp_size"] > 1,
    }


def _breakable_off(release: Release, values: dict[str, Any]) -> dict[str, bool]:
    """What switches breakable graphs off, from 0.5.15."""
    old = release < "0.5.17"
    return {
        "latent attention": values["mla"] and release < "0.5.18",
        "data-parallel attention": old and _shares_attention(release, values),
        "LoRA": old and values["enable_lora"],
        "DeepEP": old and values["deepep"],
        "two-batch overlap": not old and values["enable_two_batch_overlap"],
        "pp_size above 1": release >= "0.5.19" and values["pp_size"] > 1,
        "context parallel": values["attn_cp_size"] > 1,
        "the decode role": release >= "0.5.16" and values["disaggregation_mode"] == "decode",
    }


def _shares_attention(release: Release, values: dict[str, Any]) -> bool:
    return limit.attention_groups(release, values) > 1


def prefill_max(release: Release, values: dict[str, Any]) -> int:
    """The largest prefill size [tokens]."""
    if values["cuda_graph_max_bs_prefill"]:
        return values["cuda_graph_max_bs_prefill"]
    if release < "0.5.7":
        return 4096
    largest = limit.card_chunk(release, values)
    if values["mla"] and release >= "0.5.8":
        largest = min(8192, largest) if release >= "0.5.23" else 2048
    if values["pp_size"] > 1 and release >= "0.5.19":
        largest = min(largest, 8192)
    if release >= ON_BY_DEFAULT:
        largest = min(largest, values["max_total_tokens"] or largest)
    if release >= SHARED_CHUNK:
        largest = min(largest, limit.chunked_prefill(release, values))
    return largest


def prefill_list(release: Release, values: dict[str, Any]) -> tuple[int, ...]:
    """Captured token counts; the maximum itself is not added to the grid."""
    if values["cuda_graph_bs_prefill"] is not None:
        sizes = ladder(values["cuda_graph_bs_prefill"])
    else:
        largest = prefill_max(release, values)
        sizes = ladder(_grid(release, largest), largest)
    return ladder(ceil_to(n, 8) for n in sizes) if values["deepep"] else sizes


def _grid(release: Release, largest: int) -> list[int]:
    small = steps(4, 32, 4) + steps(48, 256, 16) + steps(288, 512, 32)
    if release < "0.5.8":
        return small + steps(640, 4096, 128) + steps(4352, largest, 256)
    first = 640 if release < "0.5.9" else 576
    return small + steps(first, 1024, 64) + steps(1280, 4096, 256) + steps(4608, largest, 512)
