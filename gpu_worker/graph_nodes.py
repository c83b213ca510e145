"""What a captured graph consists of, counted by kind through the CUDA runtime."""

from __future__ import annotations

import ctypes
from collections import Counter
from functools import cache

import torch

# cudaGraphNodeType in driver_types.h
NODE_KINDS = {
    0: "kernel",
    1: "memcpy",
    2: "memset",
    3: "host",
    4: "graph",
    5: "empty",
    6: "event_wait",
    7: "event_record",
    10: "mem_alloc",
    11: "mem_free",
}


@cache
def _runtime() -> ctypes.CDLL | None:
    """The CUDA runtime that torch has already loaded into this process; None if not found."""
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                if "libcudart" in line:
                    return ctypes.CDLL(line.split(maxsplit=5)[5].strip())
    except OSError:
        pass
    return None


def count(graph: torch.cuda.CUDAGraph) -> dict[str, int] | None:
    """Nodes by kind; None where the runtime library cannot be asked.

    The graph must have been made with keep_graph=True.
    """
    runtime = _runtime()
    if runtime is None:
        return None
    handle = ctypes.c_void_p(graph.raw_cuda_graph())
    number = ctypes.c_size_t()
    if runtime.cudaGraphGetNodes(handle, None, ctypes.byref(number)) != 0:
        return None
    nodes = (ctypes.c_void_p * number.value)()
    if runtime.cudaGraphGetNodes(handle, nodes, ctypes.byref(number)) != 0:
        return None
    kinds: Counter[str] = Counter()
    for node in nodes:
        kind = ctypes.c_int()
        if runtime.cudaGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)) != 0:
            return None
        kinds[NODE_KINDS.get(kind.value, f"type {kind.value}")] += 1
    return dict(kinds)
