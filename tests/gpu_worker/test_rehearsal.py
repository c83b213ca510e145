"""The rehearsal accepts a right server and catches each mutant, on the CPU."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from core.errors import SettingError
from gpu_worker.buffers import ReboundInputError, StaticInputs
from gpu_worker.rehearsal import Rehearsal, rehearse
from gpu_worker.serving import ReplayServer
from gpu_worker.targets import llama
from gpu_worker.traffic import Traffic, live_counts
from tests.gpu_worker.conftest import TINY, tiny_spec
from tests.gpu_worker.hazards import MUTANTS, Rebound
from tests.gpu_worker.stand_in import StandInRunner

CPU = torch.device("cpu")
SIZES = (1, 2, 4, 8)


def run(server_class: type[ReplayServer], rounds: int = 2, seed: int = 0) -> Rehearsal:
    """One rehearsal of the tiny step with this server."""
    spec = tiny_spec(*SIZES)
    target = llama.build(spec, CPU)
    inputs = StaticInputs(target.fields(), target.padding(), max(SIZES), CPU)
    server = server_class(inputs, {"": StandInRunner(target.step, inputs, SIZES)})
    traffic = Traffic(
        spec.context_tokens, spec.block_size_tokens, target.num_blocks, TINY.vocab_size, seed
    )

    def eager(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return target.step({name: tensor.int() for name, tensor in batch.items()})

    batches = traffic.batches(list(live_counts(SIZES, rounds)))
    return rehearse(server.serve, eager, target.state(), batches)


@pytest.mark.parametrize("seed", range(3))
def test_a_right_server_passes(seed: int) -> None:
    """Forty steps, every bucket full, almost full and nearly empty."""
    result = run(ReplayServer, seed=seed)
    assert result.equal and result.steps == 40, str(result)
    assert "40 steps equal" in str(result)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_mutant_is_caught(mutant: type[ReplayServer]) -> None:
    """The harness can fail, and does for each of these mistakes."""
    result = run(mutant)
    assert not result.equal, str(result)


def test_rebinding_is_an_error_before_it_is_a_wrong_result() -> None:
    """The addresses noted at capture are checked on every step."""

    class HonestRebound(Rebound):
        def fill(self, batch: Mapping[str, torch.Tensor]) -> None:
            noted = self.inputs._addresses
            super().fill(batch)
            self.inputs._addresses = noted

    with pytest.raises(ReboundInputError, match="'tokens'"):
        run(HonestRebound)


def test_a_branch_frozen_at_capture_is_caught() -> None:
    """A step that scales its result, or not, by a flag on the host: one graph for both answers
    with the branch it was captured on; a graph a branch answers right."""
    spec = tiny_spec(*SIZES)
    target = llama.build(spec, CPU)
    inputs = StaticInputs(target.fields(), target.padding(), max(SIZES), CPU)
    branches = {
        "plain": StandInRunner(target.step, inputs, SIZES),
        "scaled": StandInRunner(lambda views: 2 * target.step(views), inputs, SIZES),
    }
    right = ReplayServer(inputs, branches)
    frozen = ReplayServer(inputs, {"plain": branches["plain"], "scaled": branches["plain"]})
    traffic = Traffic(24, 16, target.num_blocks, TINY.vocab_size, 0)
    batches = traffic.batches([3, 4, 3, 4])
    for server, equal in ((right, True), (frozen, False)):
        turn = {"serve": 0, "eager": 0}

        def branch(who: str, turn: dict[str, int] = turn) -> str:
            turn[who] += 1
            return ("plain", "scaled")[turn[who] % 2]

        def eager(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
            out = target.step({name: tensor.int() for name, tensor in batch.items()})
            return out * (2 if branch("eager") == "scaled" else 1)

        result = rehearse(
            lambda batch, server=server: server.serve(batch, branch("serve")),
            eager,
            target.state(),
            batches,
        )
        assert result.equal is equal, str(result)
    with pytest.raises(SettingError, match="No graph was captured for branch 'other'"):
        right.serve(batches[0], "other")


def test_traffic_keeps_its_own_promises() -> None:
    """Live requests never share a block, block 0 stays free, and blocks do change owners."""
    traffic = Traffic(24, 16, 17, 97, 0)
    owner_changes, last = 0, {}
    for batch in traffic.batches(list(live_counts(SIZES, 3))):
        blocks = [
            row[: -(-int(length) // 16)].tolist()
            for row, length in zip(batch["tables"], batch["lengths"], strict=True)
        ]
        flat = [block for row in blocks for block in row]
        assert len(set(flat)) == len(flat) and 0 not in flat
        assert (batch["positions"] == batch["lengths"] - 1).all()
        for row, owned in enumerate(blocks):
            owner_changes += any(last.get(block, row) != row for block in owned)
            last.update(dict.fromkeys(owned, row))
    assert owner_changes > 10
