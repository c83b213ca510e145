"""Rows of the oracle that the rules answer otherwise on purpose, with the reason for each kind."""

from __future__ import annotations

from tests.core.engines.vllm_oracle import Row


def reason(release: str, row: Row) -> str:
    """Why a row may differ; empty for a row that must agree."""
    settings = row["settings"]
    if release in ("0.8.5", "0.9.2", "0.10.0") and settings.get("model_kind") == "pooling":
        return (
            "every pooling row is refused, whatever else is set: the dense model of these rows is "
            "not taken as a pooling one there, which says nothing about pooling models"
        )
    if release == "0.19.1" and "mamba_cache_blocks" in settings:
        return (
            "the list is capped to the state blocks in the model runner of 0.19, which these rows, "
            "made from the configuration alone, do not reach"
        )
    return ""
