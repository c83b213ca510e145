"""Which tiling of the few-row matrix product reads the 8B step's weights fastest.

python benchmarks/linear_tune.py [processes]
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator

import torch
from linear_probe import LAYERS, SHAPES, replay_us

from gpu_worker.targets.kernels import linear

ROWS = (8, 16, 32, 64)
BLOCKS_N, BLOCKS_K, WARPS, STAGES = (32, 64, 128), (64, 128, 256, 512), (4, 8), (3, 4, 6)


def tilings() -> Iterator[linear.Tiling]:
    """Those that keep enough bytes in flight and fit the multiprocessor's shared memory."""
    for n, k, warps, stages in itertools.product(BLOCKS_N, BLOCKS_K, WARPS, STAGES):
        if stages * k * (n + 64) * 2 <= 220 * 1024 and n * k * 2 * stages >= 24 * 1024:
            yield linear.Tiling(n, k, warps, stages)


def compile_share(part: int, parts: int) -> None:
    """Compile every parts-th tiling, into the cache that all processes share."""
    for index, tiling in enumerate(tilings()):
        if index % parts == part:
            for rows, columns in SHAPES.values():
                weight = torch.randn(rows, columns, dtype=torch.bfloat16, device="cuda")
                for batch in ROWS:
                    x = torch.randn(batch, columns, dtype=torch.bfloat16, device="cuda")
                    linear.few_rows(x, weight, tiling)


def main(parts: int) -> None:
    """Print the best tilings a product."""
    begin = time.time()
    children = [
        subprocess.Popen([sys.executable, __file__, "--compile", str(i), str(parts)])
        for i in range(parts)
    ]
    print("compiled:", [child.wait() for child in children], f"{time.time() - begin:.0f} s")
    for name, (rows, columns) in SHAPES.items():
        weights = [
            torch.randn(rows, columns, dtype=torch.bfloat16, device="cuda") for _ in range(LAYERS)
        ]
        for batch in ROWS:
            x = torch.randn(batch, columns, dtype=torch.bfloat16, device="cuda")
            results = []
            for tiling in tilings():

                def action(x=x, ws=weights, tiling=tiling) -> None:
                    for w in ws:
                        linear.few_rows(x, w, tiling)

                results.append((replay_us(action, 7) / LAYERS, tiling))
            for us, tiling in sorted(results, key=lambda r: r[0])[:4]:
                gbps = rows * columns * 2 / us / 1e3
                print(f"{name:8s} {batch:3d} {us:7.2f} us {gbps:5.0f} {tiling}")
        del weights


if __name__ == "__main__":
    with torch.inference_mode():
        if sys.argv[1:2] == ["--compile"]:
            compile_share(int(sys.argv[2]), int(sys.argv[3]))
        else:
            main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
