"""Continuous batching written the slow way: lists of requests, one step at a time.

The reference that core.simulate must equal to the tick. It shares no code with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Request:
    """Lengths in tokens, times in ticks. `kv` tokens are in the cache, in `blocks` blocks."""

    arrival: int
    prompt: int
    output: int
    hit: int = 0
    kv: int = 0
    blocks: int = 0
    target: int = 0  # tokens to compute before the next one comes out, while it prefills
    prefilling: bool = True
    tokens: int = 0  # given out so far
    times: list[int] = field(default_factory=list)  # when tokens came out, once a step
    finish: int = -1


@dataclass
class Rules:
    blocks: int
    block: int
    max_seqs: int
    budget: int
    decode: list[int]
    mixed: list[int]
    decode_floor: list[int]
    mixed_floor: list[int]
    context: int = 0
    mixed_context: int = 0
    pair: int = 0
    prompt: int = 0
    mixed_row: int = 0
    separate: bool = False
    whole_prompt: bool = True
    drafts: int = 0
    emit: tuple[int, int] = (1, 1)
    concurrency: int | None = None


class Engine:
    """Runs requests until all are done; afterwards its fields hold what happened."""

    def __init__(self, requests: list[Request], rules: Rules) -> None:
        self.rules = rules
        self.requests = requests
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.now = self.free = self.idle = self.peak = 0
        self.free = rules.blocks
        self.preemptions = self.recomputed = self.cached = self.steps = 0
        self.decode_steps: Counter[int] = Counter()
        self.mixed_steps: Counter[int] = Counter()
        self.mixed_rows: Counter[int] = Counter()
        self.mixed_running: Counter[int] = Counter()
        self.to_come = list(requests)
        if rules.concurrency is not None:
            for request in requests[: rules.concurrency]:
                request.arrival = 0
            self.to_come = requests[: rules.concurrency]
            self.later = requests[rules.concurrency :]

    # Blocks ------------------------------------------------------------------------------------

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.rules.block)

    def grow(self, request: Request, tokens: int) -> bool:
        more = self.blocks_for(tokens) - request.blocks
        if more > self.free:
            return False
        self.free -= more
        request.blocks += more
        return True

    def release(self, request: Request) -> None:
        self.free += request.blocks
        request.blocks = 0

    def preempt(self, request: Request) -> None:
        assert self.running[-1] is request
        self.running.pop()
        self.release(request)
        self.preemptions += 1
        self.recomputed += request.kv - request.hit
        request.kv = 0
        request.prefilling = True
        self.waiting.insert(0, request)

    # One step ----------------------------------------------------------------------------------

    def chunk_of(self, request: Request, left: int) -> tuple[int, int]:
        """Tokens of the next chunk and what the cache must then hold, drafts' slack included."""
        chunk = min(request.target - request.kv, left)
        after = request.kv + chunk
        return chunk, after + (self.rules.drafts if after == request.target else 0)

    def admit(self, left: int, chunks: list[tuple[Request, int]]) -> None:
        while self.waiting and left > 0 and len(self.running) < self.rules.max_seqs:
            request = self.waiting[0]
            request.kv = request.hit
            request.target = request.prompt + request.tokens
            chunk, holds = self.chunk_of(request, left)
            whole = self.blocks_for(request.target + self.rules.drafts)
            fits = not self.rules.whole_prompt or whole <= self.free
            if not fits or not self.grow(request, holds):
                request.kv = 0
                return
            self.waiting.pop(0)
            self.running.append(request)
            self.cached += request.hit
            left -= chunk
            chunks.append((request, chunk))

    def emission(self) -> int:
        top, bottom = self.rules.emit
        return (self.steps + 1) * top // bottom - self.steps * top // bottom

    def step(self) -> None:
        rules = self.rules
        chunks: list[tuple[Request, int]] = []
        decoders: list[Request] = []
        if rules.separate:
            self.prefill_alone(chunks)
        if not chunks:
            self.schedule_running(chunks, decoders)
        if not chunks and not decoders:
            return
        self.peak = max(self.peak, rules.blocks - self.free)
        width = 1 + rules.drafts
        context = sum(request.kv + 1 for request in decoders)
        if chunks:
            tokens = len(decoders) * width + sum(chunk for _, chunk in chunks)
            pairs = sum(request.kv + i for request, chunk in chunks for i in range(1, chunk + 1))
            ticks = rules.mixed[tokens] + rules.mixed_context * context
            ticks += rules.pair * pairs + rules.prompt * len(chunks)
            ticks = max(ticks, rules.mixed_floor[tokens]) + rules.mixed_row * len(decoders)
            self.mixed_steps[tokens] += 1
            self.mixed_rows[len(decoders)] += 1
            self.mixed_running[len(self.running)] += 1
        else:
            ticks = rules.decode[len(decoders)] + rules.context * context
            ticks = max(ticks, rules.decode_floor[len(decoders)])
            self.decode_steps[len(decoders)] += 1
        self.now += ticks
        self.give_tokens(chunks, decoders)

    def prefill_alone(self, chunks: list[tuple[Request, int]]) -> None:
        left = self.rules.budget
        partial = [request for request in self.running if request.prefilling]
        assert len(partial) <= 1
        for request in partial:
            chunk, holds = self.chunk_of(request, left)
            if not self.grow(request, holds):
                return
            left -= chunk
            chunks.append((request, chunk))
        self.admit(left, chunks)

    def schedule_running(self, chunks: list[tuple[Request, int]], decoders: list[Request]) -> None:
        left = self.rules.budget
        before = self.preemptions
        at = 0
        while at < len(self.running):
            request = self.running[at]
            if request.prefilling and self.rules.separate:
                at += 1
                continue
            if request.prefilling:
                chunk, holds = self.chunk_of(request, left)
            else:
                chunk = 1 + self.rules.drafts
                holds = request.kv + self.emission() + self.rules.drafts
            while not self.grow(request, holds):
                victim = self.running[-1]
                self.preempt(victim)
                if victim is request:
                    break
            else:
                left -= chunk
                if request.prefilling:
                    chunks.append((request, chunk))
                else:
                    decoders.append(request)
                at += 1
        if not self.rules.separate and self.preemptions == before:
            self.admit(left, chunks)

    def give_tokens(self, chunks: list[tuple[Request, int]], decoders: list[Request]) -> None:
        emit = self.emission()
        if decoders:
            self.steps += 1
        for request in decoders:
            request.kv += emit
            request.tokens = min(request.tokens + emit, request.output)
            request.times.append(self.now)
        for request, chunk in chunks:
            request.kv += chunk
            if request.kv == request.target:
                request.prefilling = False
                request.tokens += 1
                request.times.append(self.now)
        for request in list(self.running):
            if request.tokens == request.output:
                self.running.remove(request)
                self.release(request)
                request.finish = self.now
                if self.rules.concurrency is not None and self.later:
                    follower = self.later.pop(0)
                    follower.arrival = self.now
                    self.to_come.append(follower)

    # The run -----------------------------------------------------------------------------------

    def run(self) -> None:
        while self.to_come or self.waiting or self.running:
            while self.to_come and self.to_come[0].arrival <= self.now:
                self.waiting.append(self.to_come.pop(0))
            if not self.waiting and not self.running:
                self.idle += self.to_come[0].arrival - self.now
                self.now = self.to_come[0].arrival
                continue
            self.step()

    def gaps(self) -> list[int]:
        """Every time between two tokens of a request."""
        return [
            later - earlier
            for request in self.requests
            for earlier, later in zip(request.times, request.times[1:], strict=False)
        ]
