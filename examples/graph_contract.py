"""The graph contract on a real CUDA card: every lesson run, and compared with eager.

python examples/graph_contract.py            all lessons; exit 0 if everything is as expected
python examples/graph_contract.py --json     the same as one JSON object

Exit 1: something differed from eager, or a hazard did not show. Exit 2: no card, or no PyTorch.
docs/graph_contract.md says what each lesson means; `python -m core lab` runs them without a card.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

try:
    import torch
except ImportError:
    print("PyTorch is not installed; install it with CUDA, or use core lab.", file=sys.stderr)
    raise SystemExit(2) from None

from core.break_even import break_even  # noqa: E402
from core.diagnose import diagnose  # noqa: E402
from core.lab.kv_requests import (  # noqa: E402
    BLOCK_SIZE,
    NUM_BLOCKS,
    REQUESTS,
    WIDTH,
    BatchRow,
    Blocks,
    batches,
)
from examples.failing_steps import HAZARDS  # noqa: E402

Tensor = torch.Tensor
Captured = tuple["torch.cuda.CUDAGraph", Tensor]
DEVICE = "cuda"
ROUNDS = 20
RACE_TRIES = 50
RACE_ELEMENTS = 1 << 24


class Report:
    """What was compared, and what differed."""

    def __init__(self, quiet: bool = False) -> None:
        self.lines: list[str] = []
        self.differences: list[str] = []
        self.quiet = quiet

    def say(self, text: str) -> None:
        self.lines.append(text)
        if not self.quiet:
            print(text)

    def same(self, what: str, got: object, want: object) -> None:
        """Exactly equal, tensors element by element."""
        if isinstance(got, Tensor) and isinstance(want, Tensor):
            equal = torch.equal(got, want)
        else:
            equal = got == want
        self.say(f"{'equal    ' if equal else 'DIFFERENT'} {what}: {_short(got)}")
        if not equal:
            self.differences.append(f"{what}: {_short(got)}, expected {_short(want)}")

    @property
    def exit_code(self) -> int:
        return 1 if self.differences else 0


def _short(value: object) -> str:
    if isinstance(value, Tensor):
        flat = value.flatten()
        return ", ".join(f"{v:g}" for v in flat[:4].tolist()) + (" ..." if len(flat) > 4 else "")
    return str(value)


def capture(step: Callable[[], Tensor], pool: object = None, warm_ups: int = 2) -> Captured:
    """Warm up on a side stream with both waits, then record there."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_ups):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=side):
        output = step()
    return graph, output


def f(x: Tensor) -> Tensor:
    return x * x + 1.0


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, device=DEVICE)


# Lessons ---------------------------------------------------------------------------------------


def what_a_graph_keeps(report: Report) -> None:
    """Tensors' content is followed; a Python number is not."""
    x, scale = numbers(2.0), 3.0
    graph, y = capture(lambda: x * scale + 1.0)
    x.fill_(5.0)
    graph.replay()
    report.same("content of x 2 -> 5: replay", y.item(), 5.0 * scale + 1.0)
    scale = 10.0
    graph.replay()
    report.same("Python scale 3 -> 10: replay still", y.item(), 5.0 * 3.0 + 1.0)


def static_input(report: Report) -> None:
    """fill_ and replay: 3 -> 10, 4 -> 17; the alias moves on, the clone stays."""
    x = numbers(0.0)
    graph, a = capture(lambda: f(x))
    x.fill_(3.0)
    graph.replay()
    b = a.clone()
    x.fill_(4.0)
    graph.replay()
    report.same("alias after two replays", a.item(), 17.0)
    report.same("clone after two replays", b.item(), 10.0)
    generator = torch.Generator().manual_seed(0)
    wrong = 0
    for _ in range(ROUNDS):
        value = torch.randn(1, generator=generator).to(DEVICE)
        x.copy_(value)
        graph.replay()
        wrong += not torch.equal(a, f(value))
    report.same(f"rounds of {ROUNDS} that differ from eager", wrong, 0)


def rebound_variable(report: Report) -> None:
    """The name moves, the pointer does not."""
    x = static = numbers(0.0)
    graph, y = capture(lambda: f(static))
    x = numbers(3.0)
    graph.replay()
    report.same("rebound x: replay reads 0 and gives", y.item(), 1.0)
    static.copy_(x)
    graph.replay()
    report.same("after copy_: replay gives", y.item(), f(x).item())


def python_side_effects(report: Report) -> None:
    """Counter, list and branch are frozen; a graph per branch follows the flag."""
    x, seen, flag = numbers(5.0), [], True

    def step() -> Tensor:
        seen.append(1)
        return x * 2.0 if flag else x * -1.0

    graphs = {}
    for flag in (False, True):
        graphs[flag] = capture(step)
    calls = len(seen)
    for _ in range(50):
        graphs[True][0].replay()
    report.same("calls that Python saw of 2 captures with 2 warm-ups each", len(seen), 6)
    report.same("calls after 50 replays", len(seen), calls)
    flag = False
    graphs[True][0].replay()
    report.same("flag False, graph of True gives", graphs[True][1].item(), 10.0)
    graphs[flag][0].replay()
    report.same("flag False, its own graph gives", graphs[flag][1].item(), step().item())


def kv_cache(report: Report) -> None:
    """Requests grow, end and reuse blocks behind one graph; padded rows use the safe slot."""
    bucket = 4
    kv = torch.zeros(NUM_BLOCKS, BLOCK_SIZE, device=DEVICE, dtype=torch.float64)
    tokens = torch.zeros(bucket, device=DEVICE, dtype=torch.float64)
    slots, lengths = (torch.zeros(bucket, device=DEVICE, dtype=torch.int64) for _ in range(2))
    tables = torch.zeros(bucket, WIDTH, device=DEVICE, dtype=torch.int64)
    positions = torch.arange(WIDTH * BLOCK_SIZE, device=DEVICE)

    def attend() -> Tensor:
        kv.view(-1).index_copy_(0, slots, tokens)
        entries = kv[tables].flatten(1)
        return torch.where(positions < lengths[:, None], entries, 0.0).sum(1)

    graph, output = capture(attend)
    kv.zero_()
    address = kv.data_ptr()
    wrong = rows = 0
    for batch in batches(REQUESTS, Blocks()):
        _fill_rows(batch, tokens, slots, lengths, tables)
        graph.replay()
        want = torch.tensor([row.eager for row in batch], device=DEVICE, dtype=torch.float64)
        wrong += int((output[: len(batch)] != want).sum())
        rows += len(batch)
    report.same(f"rows of {rows} that differ from eager", wrong, 0)
    report.same("the cache stayed where it was", kv.data_ptr(), address)


def _fill_rows(batch: Sequence[BatchRow], *inputs: Tensor) -> None:
    tokens, slots, lengths, tables = inputs
    for tensor in inputs:
        tensor.zero_()  # the safe slot lies in block 0, which is nobody's
    tokens.sub_(7.0)
    for i, row in enumerate(batch):
        tokens[i], slots[i], lengths[i] = row.token, row.slot, row.length
        tables[i, : len(row.blocks)] = torch.tensor(row.blocks)


def shape_buckets(report: Report) -> None:
    """Largest first into one pool; each batch in the smallest bucket that holds it."""
    static = torch.zeros(8, 16, device=DEVICE)
    pool = torch.cuda.graph_pool_handle()
    graphs = {}
    for size in (8, 4, 2, 1):
        rows = static[:size]
        graphs[size] = capture(lambda rows=rows: f(rows), pool)
    wrong = slots = 0
    for batch in (1, 3, 5, 8):
        bucket = min(size for size in graphs if size >= batch)
        slots += bucket
        static[:batch].normal_()
        static[batch:].fill_(float("nan"))  # garbage in padded rows must not reach live ones
        graph, output = graphs[bucket]
        graph.replay()
        wrong += not torch.equal(output[:batch], f(static[:batch]))
    report.same("batches that differ from eager", wrong, 0)
    report.same("slots replayed for 17 useful ones", slots, 21)


def payback(report: Report) -> None:
    """Measured: when 50 small kernels in one graph have paid their capture back."""
    x = torch.zeros(64, device=DEVICE)

    def step() -> Tensor:
        y = x
        for _ in range(50):
            y = y + 1.0
        return y

    torch.cuda.synchronize()
    begin = time.perf_counter()
    graph, output = capture(step)
    torch.cuda.synchronize()
    capture_us = (time.perf_counter() - begin) * 1e6
    eager_us, graph_us = _time_us(step), _time_us(graph.replay)
    even = break_even(capture_us, eager_us, graph_us)
    report.say(
        f"measured  {torch.cuda.get_device_name()}: capture with warm-up {capture_us:,.0f} us, "
        f"eager {eager_us:.1f} us, replay {graph_us:.1f} us a step; "
        f"saves from step {even.saves_from or 'never'}"
    )
    report.same("50 kernels from one graph", output, step())


def _time_us(action: Callable[[], object], repeats: int = 200) -> float:
    for _ in range(10):
        action()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        action()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / repeats * 1e6


def two_streams(report: Report) -> None:
    """Copy, event, replay, event: right with both waits; each one left out shows."""
    host = [
        torch.full((RACE_ELEMENTS,), v, pin_memory=DEVICE == "cuda") for v in (3.0, 4.0, 5.0, 6.0)
    ]
    x = torch.zeros(RACE_ELEMENTS, device=DEVICE)
    graph, y = capture(lambda: f(x))
    for run_waits, copy_waits in ((True, True), (False, True), (True, False)):
        wrong, tries = 0, 0
        while tries < RACE_TRIES and not (wrong and not (run_waits and copy_waits)):
            wrong += _race(host, x, graph, y, run_waits, copy_waits)
            tries += 1
        if run_waits and copy_waits:
            report.same(f"both waits: wrong of {tries} tries", wrong, 0)
        else:
            missing = "the copy" if run_waits else "the replay"
            report.same(f"{missing} does not wait: shown (try {tries})", bool(wrong), True)


def _race(
    host: Sequence[Tensor],
    x: Tensor,
    graph: torch.cuda.CUDAGraph,
    y: Tensor,
    run_waits: bool,
    copy_waits: bool,
) -> bool:
    """One run of all steps; True if a result is wrong."""
    copy, run = torch.cuda.Stream(), torch.cuda.Stream()
    results = [torch.empty_like(y) for _ in host]
    x.zero_()
    torch.cuda.synchronize()
    replayed = None
    for values, result in zip(host, results, strict=True):
        with torch.cuda.stream(copy):
            if copy_waits and replayed is not None:
                copy.wait_event(replayed)
            x.copy_(values, non_blocking=True)
            copied = copy.record_event()
        with torch.cuda.stream(run):
            if run_waits:
                run.wait_event(copied)
            graph.replay()
            replayed = run.record_event()
            result.copy_(y)
    torch.cuda.synchronize()
    pairs = zip(results, host, strict=True)
    return any(not bool((r == v[0].item() ** 2 + 1).all()) for r, v in pairs)


def piecewise(report: Report) -> None:
    """Two captured segments and a decision in Python between them."""
    x, middle, choice = numbers(1.0), numbers(0.0), 0.0
    first, a = capture(lambda: x + 4.0)
    second, b = capture(lambda: middle * 2.0)
    full, c = capture(lambda: (x + 4.0 + choice) * 2.0)
    for choice in (0.0, 5.0, 20.0):
        first.replay()
        middle.copy_(a + choice)
        second.replay()
        report.same(f"choice {choice:g}: pieces", b.item(), (1.0 + 4.0 + choice) * 2.0)
        full.replay()
        report.same(f"choice {choice:g}: full graph keeps choice 0", c.item(), 10.0)


def capture_failures(report: Report) -> None:
    """Each step fails to capture, in a process of its own, and the doctor finds why."""
    for name, (_, klass) in HAZARDS.items():
        command = [sys.executable, str(ROOT / "examples" / "failing_steps.py"), name]
        child = subprocess.run(command, capture_output=True, text=True)
        if child.returncode == 0:
            report.same(f"{name}: fails to capture", "was captured", "fails")
            continue
        first = diagnose(child.stderr or "no message").first
        report.same(f"{name}: the doctor's verdict", first.klass if first else None, klass)
        if first is not None and first.site is not None:
            report.say(f"          {first.site}")


LESSONS: tuple[Callable[[Report], None], ...] = (
    what_a_graph_keeps,
    static_input,
    rebound_variable,
    python_side_effects,
    capture_failures,
    kv_cache,
    shape_buckets,
    payback,
    two_streams,
    piecewise,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description="The graph contract on a CUDA card.")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print(
            "No CUDA card is visible here; run `python -m core lab` for the same lessons on the "
            "CPU.",
            file=sys.stderr,
        )
        return 2
    report = Report(quiet=args.json)
    for lesson in LESSONS:
        report.say(f"-- {lesson.__name__.replace('_', ' ')}: {lesson.__doc__}")
        lesson(report)
    if args.json:
        print(json.dumps({"lines": report.lines, "differences": report.differences}))
    else:
        verdict = "All as expected." if not report.differences else "DIFFERENCES:"
        print("\n".join([verdict, *report.differences]))
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
