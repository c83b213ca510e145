"""Device memory that an engine's graphs take, and whether that costs KV tokens."""

from core.graph_memory.capacity import (
    GraphCapacity,
    KvBudget,
    budget_of_plan,
    graphs_effect,
    kv_tokens,
)
from core.graph_memory.fit import GraphMemoryObservation, fit_graph_memory
from core.graph_memory.lists import GraphLists, lists_of_plan
from core.graph_memory.model import GraphBytes, GraphMemoryModel
from core.graph_memory.shipped import fit_to_own_capture, shipped_captures, shipped_graph_memory

__all__ = [
    "GraphBytes",
    "GraphCapacity",
    "GraphLists",
    "GraphMemoryModel",
    "GraphMemoryObservation",
    "KvBudget",
    "budget_of_plan",
    "fit_graph_memory",
    "fit_to_own_capture",
    "graphs_effect",
    "kv_tokens",
    "lists_of_plan",
    "shipped_captures",
    "shipped_graph_memory",
]
