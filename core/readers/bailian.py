"""Alibaba's Qwen-Bailian traces: Mooncake's keys, but seconds, and blocks of 16 tokens.

Told from Mooncake by its own keys. Source: alibaba-edu/qwen-bailian-usagetraces-anon.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.mooncake import BAILIAN_KEYS, COLUMN_MAP, read_blocks_trace
from core.readers.options import ReadOptions
from core.readers.reading import Reading

BLOCK_TOKENS = 16


def detect(head: Head, options: ReadOptions) -> bool:
    return head.has_keys(*COLUMN_MAP.values()) and head.has_keys(*BAILIAN_KEYS)


def read_bailian(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Timestamps are seconds from 0."""
    return read_blocks_trace(source, head, options, FORMAT, BLOCK_TOKENS, "s")


FORMAT = Format("bailian-jsonl", "Qwen-Bailian trace (JSON Lines)", detect, read_bailian, rank=5)
