"""What the Memory page was told, as one frozen choice."""

from dataclasses import dataclass

from core.records import PoolPolicy


@dataclass(frozen=True)
class MemoryChoice:
    """What is free for graphs and KV cache, and what a token and a request take."""

    free_bytes: float
    kv_bytes_per_token: float
    tokens_per_request: float
    policy: PoolPolicy
    kv_origin: str
