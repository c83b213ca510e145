"""KV that grows while its storage stays: tables and lengths change, the launch does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.errors import SettingError
from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.graph import Node
from core.lab.kv_requests import (
    BLOCK_SIZE,
    NUM_BLOCKS,
    REQUESTS,
    WIDTH,
    BatchRow,
    Blocks,
    Request,
    batches,
)
from core.lab.tensor import empty
from core.records import FloatArray

GARBAGE = -7.0
"""The token of a padded row: whoever reads it shows it."""


class Padding(StrEnum):
    """What rows without a request hold."""

    SAFE = "safe slot, length 0"
    MINUS_ONE = "slot -1, used as an index"
    STALE = "left from the step before"


@dataclass(frozen=True)
class KvStep:
    """One decode step: what went in, what the replay gave, and what lies in each slot after."""

    step: int
    rows: tuple[BatchRow, ...]
    replay: tuple[float, ...]
    padded_rows: int
    cache: tuple[float, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        """Requests whose result differs from eager."""
        pairs = zip(self.rows, self.replay, strict=True)
        return tuple(row.request for row, got in pairs if got != row.eager)

    @property
    def owners(self) -> tuple[str, ...]:
        """The live request whose token belongs in each slot; "" where there is none."""
        found = [""] * (NUM_BLOCKS * BLOCK_SIZE)
        for row in self.rows:
            for position in range(row.length):
                block = row.blocks[position // BLOCK_SIZE]
                found[block * BLOCK_SIZE + position % BLOCK_SIZE] = row.request
        return tuple(found)


@dataclass(frozen=True)
class KvRun:
    """One graph that serves all steps.

    addresses : of cache and static inputs; launches : of each step
    reused : (block, first owner, next owner)
    """

    padding: Padding
    bucket: int
    steps: tuple[KvStep, ...]
    addresses: tuple[int, ...]
    launches: tuple[int, ...]
    reused: tuple[tuple[int, str, str], ...]
    derivation: Derivation

    @property
    def first_wrong(self) -> int | None:
        return next((s.step for s in self.steps if s.wrong), None)


def _attend(
    out: FloatArray,
    kv: FloatArray,
    tokens: FloatArray,
    slots: FloatArray,
    lengths: FloatArray,
    tables: FloatArray,
) -> None:
    """Write each row's token into its slot, then sum the first `length` entries of its table."""
    where = slots.astype(np.int64)
    kv[where // BLOCK_SIZE, where % BLOCK_SIZE] = tokens
    entries = kv[tables.astype(np.int64)].reshape(len(tokens), -1)
    live = np.arange(entries.shape[1]) < lengths[:, None]
    out[...] = np.where(live, entries, 0.0).sum(axis=1)


class _Server:
    """The captured step and its static inputs."""

    def __init__(self, bucket: int, padding: Padding) -> None:
        self.card = Card()
        self.padding = padding
        self.kv = empty(self.card, (NUM_BLOCKS, BLOCK_SIZE))
        shapes = {"tokens": (bucket,), "slots": (bucket,), "lengths": (bucket,)}
        self.inputs = {name: empty(self.card, shape) for name, shape in shapes.items()}
        self.tables = empty(self.card, (bucket, WIDTH))
        self.output = empty(self.card, (bucket,))
        reads = [t.place for t in (*self.inputs.values(), self.tables)]
        with self.card.capture() as self.graph:
            node = Node("attend", _attend, (self.output.place, self.kv.place), tuple(reads))
            self.card.submit(node)

    def serve(self, batch: Sequence[BatchRow]) -> tuple[tuple[float, ...], int]:
        """Results of the live rows, and the launches of the graph."""
        self._fill(batch)
        before = self.card.launches
        self.graph.replay()
        launches = self.card.launches - before
        return tuple(self.output.tolist()[: len(batch)]), launches

    def _fill(self, batch: Sequence[BatchRow]) -> None:
        """Copy the batch in; the rows behind it hold what the padding says."""
        if self.padding is not Padding.STALE:
            slot = 0.0 if self.padding is Padding.SAFE else -1.0
            for name, value in (("tokens", GARBAGE), ("slots", slot), ("lengths", 0.0)):
                self.inputs[name].fill_(value)
            self.tables.fill_(0.0)
        live = len(batch)
        if not live:
            return
        self.inputs["tokens"][:live].copy_([row.token for row in batch])
        self.inputs["slots"][:live].copy_([row.slot for row in batch])
        self.inputs["lengths"][:live].copy_([row.length for row in batch])
        padded = [[*row.blocks, *[0] * (WIDTH - len(row.blocks))] for row in batch]
        self.tables[:live].copy_(padded)

    @property
    def addresses(self) -> tuple[int, ...]:
        return tuple(t.address for t in (self.kv, *self.inputs.values(), self.tables))


def serve(
    padding: Padding = Padding.SAFE, bucket: int = 4, requests: Sequence[Request] = REQUESTS
) -> KvRun:
    """Serve the requests from one graph and compare every live row with the sum of its tokens.

    Raises SettingError if more requests run at once than the bucket or the blocks hold.
    """
    server, blocks = _Server(bucket, padding), Blocks()
    steps, launches = [], []
    for number, batch in enumerate(batches(requests, blocks)):
        if len(batch) > bucket:
            raise SettingError(
                f"Step {number} has {len(batch)} requests; the bucket holds {bucket}."
            )
        replay, count = server.serve(batch)
        cache = tuple(server.card.read(server.kv.place).ravel().tolist())
        steps.append(KvStep(number, tuple(batch), replay, bucket - len(batch), cache))
        launches.append(count)
    reused = tuple(
        (block, before, after)
        for block, owners in sorted(blocks.owners.items())
        for before, after in zip(owners, owners[1:], strict=False)
    )
    return KvRun(
        padding,
        bucket,
        tuple(steps),
        server.addresses,
        tuple(launches),
        reused,
        _derivation(padding, steps, launches, reused),
    )


def _derivation(
    padding: Padding,
    steps: Sequence[KvStep],
    launches: Sequence[int],
    reused: Sequence[tuple[int, str, str]],
) -> Derivation:
    wrong = [(s.step, name) for s in steps for name in s.wrong]
    lengths = [row.length for s in steps for row in s.rows]
    computed = (
        Step("decode steps", len(steps), "steps"),
        Step("launches a step, fewest and most", (min(launches), max(launches)), "launches"),
        Step("lengths seen by the one graph, from and to", (min(lengths), max(lengths)), "tokens"),
        Step("blocks that a second request took over", len(reused), "blocks"),
        Step("rows replayed for nobody", sum(s.padded_rows for s in steps), "rows"),
        Step("results that differ from eager", len(wrong), "rows"),
    )
    if wrong:
        answer = (
            f"Padded rows with {padding.value} write into live memory: request {wrong[0][1]} is "
            f"wrong from step {wrong[0][0]} on."
        )
    else:
        answer = (
            "Storage, shapes and launch stay; block tables, lengths and slots are inputs, filled "
            "before each replay. Padded rows write to a slot that nobody reads."
        )
    return Derivation(
        "KV cache behind a graph",
        "Requests grow, end and reuse blocks. What of that does the graph have to know?",
        (
            f"blocks of {BLOCK_SIZE} tokens, {NUM_BLOCKS} of them, block 0 nobody's",
            "attention stands for the sum of a request's tokens",
            f"padded rows: {padding.value}",
        ),
        computed,
        answer,
    )
