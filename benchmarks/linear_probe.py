"""How fast the plain matrix products of the 8B step read their weights, by batch size.

    python benchmarks/linear_probe.py

Each product is captured 32 times over 32 weights, so that nothing stays in the cache.
"""

from __future__ import annotations

import torch
from torch.nn import functional

SHAPES = {"qkv": (6144, 4096), "out": (4096, 4096), "gate_up": (28672, 4096), "down": (4096, 14336)}
LAYERS = 32


def replay_us(action, samples: int = 20) -> float:
    """Median time of one replay of the captured action [us]."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        action()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        action()
    times = []
    for _ in range(samples):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[samples // 2]


def main() -> None:
    """Print a table: product, rows, us a product, GB/s of weights."""
    for name, (rows, columns) in SHAPES.items():
        weights = [
            torch.randn(rows, columns, dtype=torch.bfloat16, device="cuda") for _ in range(LAYERS)
        ]
        for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            x = torch.randn(batch, columns, dtype=torch.bfloat16, device="cuda")
            us = replay_us(lambda x=x, ws=weights: [functional.linear(x, w) for w in ws]) / LAYERS
            print(f"{name:8s} {batch:4d} {us:8.2f} us {rows * columns * 2 / us / 1e3:7.0f} GB/s")
        del weights


if __name__ == "__main__":
    with torch.inference_mode():
        main()
