"""The emulated card: order, events, capture and its errors, replay on addresses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SettingError
from core.lab import orders
from core.lab.card import Card, Event
from core.lab.orders import outcomes
from core.lab.recorder import CudaError
from core.lab.storage import ALIGNMENT_BYTES, Storage
from core.lab.tensor import HostTensor, Tensor, empty, tensor, where


def test_allocations_do_not_overlap_and_keep_their_values():
    """Each place has its own aligned address, also after the memory grew."""
    storage = Storage()
    places = [storage.allocate((n,)) for n in (1, 33, 2000, 5)]
    for value, place in enumerate(places, start=1):
        storage[place][...] = value
    for value, place in enumerate(places, start=1):
        assert (storage[place] == value).all()
        assert place.address % ALIGNMENT_BYTES == 0


def test_rows_are_views_of_the_same_memory():
    """Writing rows 1 and 2 changes the tensor itself."""
    card = Card()
    x = empty(card, (4, 2))
    x[1:3].fill_(7.0)
    assert x.tolist() == [[0, 0], [7, 7], [7, 7], [0, 0]]


def test_capturing_runs_python_but_no_kernel():
    """After a capture the output still holds what was in memory; a replay computes it."""
    card = Card()
    x = tensor(card, [3.0])
    with card.capture() as graph:
        y = x * 2.0
    assert y.item() == 0.0
    graph.replay()
    assert y.item() == 6.0


def test_a_replay_is_one_launch():
    """Ten nodes are ten launches eagerly and one from a graph."""
    card = Card()
    x = tensor(card, [0.0])

    def step(x: Tensor) -> Tensor:
        for _ in range(10):
            x = x + 1.0
        return x

    before = card.launches
    step(x)
    assert card.launches - before == 10
    with card.capture() as graph:
        y = step(x)
    before = card.launches
    graph.replay()
    assert card.launches - before == 1
    assert y.item() == 10.0


@given(
    st.lists(st.sampled_from(["add", "mul", "where"]), min_size=1, max_size=8),
    st.lists(st.floats(-8, 8), min_size=2, max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_replay_equals_eager_for_any_chain(names, values):
    """Whatever the chain of operations, a replay with a new input gives what eager gives."""

    def step(x: Tensor) -> Tensor:
        for name in names:
            x = {"add": x + 1.5, "mul": x * -2.0, "where": where(x > 0.0, x, x * 3.0)}[name]
        return x

    card = Card()
    x = tensor(card, [values[0]])
    with card.capture() as graph:
        y = step(x)
    x.fill_(values[1])
    graph.replay()
    assert y.item() == step(x).item()


def test_one_stream_runs_in_order():
    """There is one order on one stream."""

    def program(card: Card) -> float:
        x = tensor(card, [1.0])
        x.copy_(x * 2.0)
        x.copy_(x + 1.0)
        return x.item()

    assert outcomes(program) == {3.0: 1}


def test_all_orders_of_two_streams_are_tried():
    """Two and two launches without a wait: 4! / (2! 2!) = 6 orders."""

    def program(card: Card) -> tuple[float, ...]:
        log = tensor(card, [0.0])
        card.synchronize()
        for name, digits in (("one", (1, 2)), ("two", (3, 4))):
            with card.on(card.stream(name)):
                for digit in digits:
                    # log = 10 * log + digit, as one launch
                    _append(log, digit)
        return (log.item(),)

    found = outcomes(program)
    assert set(found) == {(1234,), (1324,), (1342,), (3124,), (3142,), (3412,)}
    assert set(found.values()) == {1}


def _append(log: Tensor, digit: int) -> None:
    from core.lab.graph import Node

    def kernel(out: np.ndarray, value: float) -> None:
        out[...] = 10 * out + value

    log.card.submit(Node("append", kernel, (log.place,), (), (float(digit),)))


def test_an_event_orders_two_streams():
    """A wait leaves one order of write and read; without it there are two results."""

    def program(wait: bool):
        def run(card: Card) -> float:
            x, y = tensor(card, [0.0]), empty(card, (1,))
            card.synchronize()
            a, b = card.stream("a"), card.stream("b")
            with card.on(a):
                x.fill_(5.0)
                written = a.record_event()
            if wait:
                b.wait_event(written)
            with card.on(b):
                y.copy_(x)
            return y.item()

        return run

    assert set(outcomes(program(True))) == {5.0}
    assert set(outcomes(program(False))) == {0.0, 5.0}


def test_an_event_that_was_never_recorded_holds_nobody_up():
    """As in CUDA, waiting for it does nothing."""
    card = Card()
    card.current.wait_event(Event())
    assert tensor(card, [1.0]).item() == 1.0


def test_too_many_orders_are_refused(monkeypatch):
    """The enumeration is bounded and says so."""
    monkeypatch.setattr(orders, "MOST_ORDERS", 5)

    def program(card: Card) -> int:
        for name in ("a", "b"):
            with card.on(card.stream(name)):
                for _ in range(3):
                    empty(card, (1,)).fill_(1.0)
        card.synchronize()
        return 0

    with pytest.raises(SettingError, match="fewer steps"):
        outcomes(program)


def test_a_forked_and_joined_stream_is_recorded_with_its_edges():
    """a -> (b on the side), c beside it, d after both: the edges say so."""
    card = Card()
    x = tensor(card, [1.0])
    side = card.stream("side")
    with card.capture() as graph:
        a = x + 1.0  # 0
        side.wait_stream(card.current)
        with card.on(side):
            b = a * 2.0  # 1
        c = a * 3.0  # 2
        card.current.wait_stream(side)
        d = b + c  # 3
    assert sorted(graph.edges) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    graph.replay()
    assert d.item() == 10.0


def _unjoined(card: Card, x: Tensor) -> None:
    side = card.stream("side")
    side.wait_stream(card.current)
    with card.on(side):
        x.fill_(1.0)


def _outside_event(card: Card, x: Tensor) -> None:
    outside = card.stream("outside")
    card.current.wait_event(outside.record_event())


@pytest.mark.parametrize(
    ("body", "code", "first"),
    [
        (lambda card, x: x.item(), 901, 900),
        (lambda card, x: card.synchronize(), 901, 900),
        (_outside_event, 901, 905),
        (_unjoined, 904, 904),
    ],
)
def test_errors_of_a_capture(body, code, first):
    """The error that leaves the capture, and the one that Python keeps as its context."""
    card = Card()
    x = tensor(card, [1.0])
    with pytest.raises(CudaError) as caught, card.capture():
        body(card, x)
    assert caught.value.code == code
    context = caught.value.__context__
    assert (context.code if isinstance(context, CudaError) else code) == first
    assert x.item() == 1.0, "the card works on after a failed capture"


def test_pageable_memory_is_refused_and_pinned_memory_is_read_at_each_replay():
    """Pinned host memory has an address that a graph keeps."""
    card = Card()
    x = tensor(card, [0.0])
    with pytest.raises(RuntimeError, match="pinned"), card.capture():
        x.copy_(HostTensor(np.array([1.0])))
    host = HostTensor(np.array([1.0]), pinned=True)
    with card.capture() as graph:
        x.copy_(host)
    host.values[0] = 9.0
    graph.replay()
    assert x.item() == 9.0


def test_work_on_a_stream_outside_the_capture_is_not_in_the_graph():
    """It runs once, now, and is missing from every replay."""
    card = Card()
    x, y = tensor(card, [2.0]), tensor(card, [0.0])
    other = card.stream("a library's own")
    with card.capture() as graph:
        z = x * 10.0
        with card.on(other):
            y.copy_(x)
    x.fill_(5.0)
    graph.replay()
    assert (len(graph.nodes), z.item()) == (1, 50.0)
    assert y.item() in (2.0, 5.0)
