"""Least and most of numbers that pages also read where their widgets are not drawn.

A session may hold any number; what a widget would not take is no choice anywhere. A test holds
each against the widget of its key.
"""

from __future__ import annotations

from collections.abc import Mapping

RANGES: Mapping[str, tuple[float, float]] = {
    "acceptance": (0.0, 1.0),
    "arrival_cv": (0.0, 20.0),
    "arrival_seed": (0, 2**31 - 1),
    "best_k": (1, 64),
    "best_memory_mib": (0.0, 1e7),
    "best_multiple": (1, 256),
    "block_size_tokens": (1, 4096),
    "card_gib": (1.0, 10_000.0),
    "concurrency": (1, 100_000),
    "cost_capture_ms": (0.0, 1e9),
    "cost_context": (0, 10_000_000),
    "cost_launch_us": (0.0, 1e9),
    "cost_launch_us_per_row": (0.0, 1e9),
    "cost_step_us": (0.0, 1e9),
    "cost_step_us_per_row": (0.0, 1e9),
    "draft_tokens": (0, 64),
    "kv_tokens": (1024, 100_000_000),
    "load_factor": (0.05, 100.0),
    "max_num_batched_tokens": (16, 1_000_000),
    "max_num_seqs": (1, 4096),
    "prefix_hit_rate": (0.0, 0.99),
    "rate_rps": (0.0, 100_000.0),
    "reserve_gib": (0.0, 1000.0),
    "restore_ms": (0.0, 1e6),
    "tokens_per_request": (1.0, 1e7),
    "tp": (1, 64),
    "tpot_limit_ms": (1.0, 1e6),
    "ttft_limit_ms": (1.0, 1e6),
    "uptime_h": (0.1, 10_000.0),
    "utilization": (0.05, 1.0),
}
