"""The step's parts against the formulas, one number at a time."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.targets import plain_ops
from gpu_worker.targets.llama_weights import ROPE_BASE, rotary_table


def naive_attention(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, tables: list, lengths: list
) -> torch.Tensor:
    """Loops over requests, heads and tokens, in float64."""
    num_rows, num_heads, head_dim = query.shape
    block, num_kv_heads = keys.shape[1:3]
    out = torch.zeros(num_rows, num_heads, head_dim, dtype=torch.float64)
    for row in range(num_rows):
        where = [(tables[row][t // block], t % block) for t in range(lengths[row])]
        for head in range(num_heads):
            shared = head // (num_heads // num_kv_heads)
            scores = torch.tensor(
                [
                    float(query[row, head].double() @ keys[b, o, shared].double())
                    / math.sqrt(head_dim)
                    for b, o in where
                ],
                dtype=torch.float64,
            )
            weights = torch.softmax(scores, 0)
            for weight, (b, o) in zip(weights, where, strict=True):
                out[row, head] += weight * values[b, o, shared].double()
    return out.flatten(1)


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 11), min_size=1, max_size=4),
    group=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 1000),
)
def test_attention_is_softmax_over_the_requests_own_blocks(
    lengths: list[int], group: int, seed: int
) -> None:
    """Equal to the loops; slots that nobody wrote hold NaN and do not matter."""
    torch.manual_seed(seed)
    block, num_kv_heads, head_dim = 4, 2, 8
    keys = torch.full((16, block, num_kv_heads, head_dim), float("nan"))
    values = keys.clone()
    owned = torch.randperm(15)[: 3 * len(lengths)].view(-1, 3) + 1
    for row, length in enumerate(lengths):
        for token in range(length):
            at = owned[row, token // block], token % block
            keys[at], values[at] = torch.randn(2, num_kv_heads, head_dim)
    keys = keys.nan_to_num(nan=7.0)  # a masked score may be anything finite
    query = torch.randn(len(lengths), group * num_kv_heads, head_dim)
    got = plain_ops.attend(query, keys, values, owned.int(), torch.tensor(lengths))
    want = naive_attention(query, keys, values, owned.tolist(), lengths)
    torch.testing.assert_close(got.double(), want, atol=1e-5, rtol=1e-5)


def test_norm_by_hand() -> None:
    """(1, 1) + (2, 6) = (3, 7): mean square (9 + 49) / 2 = 29; weights 1 and 2."""
    normed, total = plain_ops.add_norm(
        torch.tensor([[1.0, 1.0]]), torch.tensor([[2.0, 6.0]]), torch.tensor([1.0, 2.0])
    )
    assert total.tolist() == [[3.0, 7.0]]
    want = torch.tensor([[3 / math.sqrt(29), 2 * 7 / math.sqrt(29)]])
    torch.testing.assert_close(normed, want, atol=1e-6, rtol=1e-5)


def test_rotary_table_by_hand() -> None:
    """Position p, pair i turns by p * base ** (-2i / d)."""
    table = rotary_table(3, 4)
    assert table.shape == (3, 4)
    assert table[0].tolist() == [1, 1, 0, 0]
    angle = 2 * ROPE_BASE**-0.5
    want = [math.cos(2), math.cos(angle), math.sin(2), math.sin(angle)]
    torch.testing.assert_close(table[2], torch.tensor(want))


def test_scores_depend_on_distance_alone() -> None:
    """A query at 9 sees a key at 5 as one at 6 sees a key at 2: rotary is relative."""
    torch.manual_seed(0)
    table = rotary_table(10, 8)
    qkv = torch.randn(1, 3 * 8)

    def rotated(position: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = torch.zeros(1, 2, 1, 8), torch.zeros(1, 2, 1, 8)
        query = plain_ops.rotate_and_store(
            qkv, torch.tensor([position]), table, torch.tensor([1]), keys, values
        )
        return query[0, 0], keys[0, 1, 0]

    scores = [rotated(q)[0] @ rotated(k)[1] for q, k in ((9, 5), (6, 2))]
    torch.testing.assert_close(scores[0], scores[1])


def test_store_writes_its_slots_and_nothing_else() -> None:
    """Slot 5 of blocks of 4 is block 1, offset 1; the value is stored unrotated."""
    keys, values = torch.zeros(3, 4, 2, 4), torch.zeros(3, 4, 2, 4)
    qkv = torch.randn(2, (3 + 2 * 2) * 4)
    slots = torch.tensor([5, 8])
    plain_ops.rotate_and_store(qkv, torch.tensor([0, 2]), rotary_table(4, 4), slots, keys, values)
    torch.testing.assert_close(values[1, 1], qkv[0, 20:].view(2, 4))
    torch.testing.assert_close(keys[1, 1], qkv[0, 12:20].view(2, 4))
    written = values.abs().sum((2, 3)).nonzero().tolist()
    assert written == [[1, 1], [2, 0]]
    assert keys.abs().sum((2, 3)).nonzero().tolist() == written


def test_gated_activation_by_hand() -> None:
    """silu(0) * 5 = 0; silu(1) * 2 = 2 / (1 + 1/e)."""
    out = plain_ops.gated_activation(torch.tensor([[0.0, 1.0, 5.0, 2.0]]))
    torch.testing.assert_close(out, torch.tensor([[0.0, 2 / (1 + math.exp(-1))]]))
