"""Graph memory by size, for the functions that add up one list."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.compute.hashing import content_digest
from core.records import GraphMemory, ModelShape, PoolPolicy
from core.study.build import graph_memory_by_size
from core.study.graphs import EngineChoice

HASH: dict[str | type, Any] = {EngineChoice: content_digest, ModelShape: content_digest}


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs=HASH)
def memory_by_size(
    engine: EngineChoice, shape: ModelShape | None, max_num_seqs: int, policy: PoolPolicy
) -> GraphMemory:
    """As `core.study.build.graph_memory_by_size`. Raises SettingError, ModelConfigError."""
    return graph_memory_by_size(engine, shape, max_num_seqs, policy)
