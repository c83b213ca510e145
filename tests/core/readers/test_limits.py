"""Bounded memory and time: bombs, endless lines, deep nesting, lying sizes."""

from __future__ import annotations

import contextlib
import gzip
import io
import time

import pytest

from core.errors import FileContentError, ProjectError, SettingError
from core.readers import ReadOptions, read
from core.readers.common import containers, grow
from core.readers.common.head import MAX_JSON_BYTES

GIB = 1 << 30
PATIENCE_S = 5.0
"""Of processor time, which a busy machine does not stretch."""


class Endless(io.RawIOBase):
    """A file of `size` bytes that exists only where it is read."""

    def __init__(self, start: bytes, body: bytes, size: int) -> None:
        self.start, self.body, self.size, self.place = start, body * 4096, size, 0
        self.furthest = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = 0) -> int:
        self.place = {0: 0, 1: self.place, 2: self.size}[whence] + offset
        return self.place

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        n = min(len(buffer), self.size - self.place, len(self.body) // 2)
        if self.place < len(self.start):
            data = self.start[self.place : self.place + n]
        else:
            shift = (self.place - len(self.start)) % (len(self.body) // 4096)
            data = self.body[shift : shift + n]
        buffer[: len(data)] = data
        self.place += len(data)
        self.furthest = max(self.furthest, self.place)
        return len(data)


ENDLESS = {
    "table": (b"prompt_tokens,output_tokens\n1,2\n", b"1"),
    "cells": (b"", b"1,"),
    "JSON text": (b'{"prompt_tokens": 1, "a":"', b"x"),
    "JSON array": (b"[1", b",12345"),
    "log": (b"INFO 11-30 04:31:42 [a.py:1] Graph capturing finished in 4 secs, took 1 GiB\n", b"y"),
    "scrape": (b'vllm:request_prompt_tokens_bucket{le="1.0"} 3\n', b"z"),
    "words": (b"", b"hello world "),
    "JSON Lines": (b'{"input_length":1,"output_length":2,"timestamp":1,"hash_ids":[]}\n' * 3, b"["),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_one_gibibyte_in_a_line(what: str) -> None:
    """A single line of 1 GiB ends in a sentence, soon, and long before it is read."""
    start, body = ENDLESS[what]
    endless = Endless(start, body, GIB)
    begin = time.process_time()
    with pytest.raises(ProjectError) as caught:
        read(endless, name="endless")  # type: ignore[arg-type]
    assert time.process_time() - begin < PATIENCE_S
    assert endless.furthest < 80 << 20
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["zeros", "rows", "log"])
def test_inflate_bombs(what: str) -> None:
    """A few hundred kilobytes that grow to gigabytes are stopped at a hundredfold."""
    rows = {"zeros": b"\0" * 64, "rows": b"100,20\n", "log": b"INFO one line like the others\n"}
    row = rows[what]
    head = b"prompt_tokens,output_tokens\n" if what == "rows" else b""
    if what == "log":
        head = b"INFO 11-30 04:31:42 [a.py:1] Graph capturing finished in 4 secs, took 1.00 GiB\n"
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
        packed.write(head)
        block = row * (4_000_000 // len(row))
        for _ in range(25):
            packed.write(block)
    begin = time.process_time()
    with pytest.raises(ProjectError):
        read(out.getvalue())
    assert time.process_time() - begin < PATIENCE_S


def test_limit_of_unpacked_bytes_is_an_option() -> None:
    """The user may set how far a packed file may grow."""
    text = b"prompt_tokens,output_tokens\n" + b"".join(b"%d,3\n" % i for i in range(1, 20_000))
    packed = gzip.compress(text)
    assert read(packed).kept == 19_999
    with pytest.raises(FileContentError, match="max_inflated_bytes"):
        read(packed, options=ReadOptions(max_inflated_bytes=50_000))
    with pytest.raises(SettingError):
        ReadOptions(max_inflated_bytes=0)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("closed", [True, False])
def test_json_nested_a_hundred_thousand_deep(opening: str, closed: bool) -> None:
    """Nesting beyond reason is a sentence, closed or cut, alone or in a line."""
    deep = opening * 100_000
    if closed:
        deep += "1" + {"[": "]", '{"a":': "}"}[opening] * 100_000
    good = '{"input_length":1,"output_length":2,"timestamp":1,"hash_ids":[]}\n'
    for text in (deep, good * 3 + deep + "\n"):
        with pytest.raises(FileContentError, match="nested too deeply"):
            read(text.encode())


def test_json_larger_than_can_be_held() -> None:
    """A document past the limit is refused by its size, before it is loaded."""
    with pytest.raises(FileContentError, match="JSON Lines"):
        read(Endless(b"[1", b",1", MAX_JSON_BYTES + 10), name="big.json")  # type: ignore[arg-type]


def test_too_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the largest number of requests the file is refused, not cut."""
    monkeypatch.setattr(grow, "MAX_ROWS", 100)
    with pytest.raises(FileContentError, match="more than 100 requests"):
        read(b"prompt_tokens,output_tokens\n" + b"1,2\n" * 200)


def test_columns_grow_beyond_their_guess() -> None:
    """A wrong guess of the number of rows costs a copy and nothing else."""
    column = grow.IntColumn(10)
    import numpy as np

    for start in range(0, 300_000, 1000):
        column.add(np.arange(start, start + 1000))
    assert np.array_equal(column.finish(), np.arange(300_000))


def test_packed_too_often() -> None:
    """A file packed in a packed file, over and over, is refused."""
    data = b"prompt_tokens,output_tokens\n1,2\n"
    for _ in range(containers_deep() + 1):
        data = gzip.compress(data)
    with pytest.raises(FileContentError, match="packed more than"):
        read(data)


def containers_deep() -> int:
    from core.readers.common.source import MAX_DEPTH

    assert containers.MAX_RATIO > 40  # real logs reach 40
    return MAX_DEPTH


REPEATED = [
    "1", "1.", "1,", " ", "(", "[", "{", '"', "|", "| ", "#", "-", "\\", "a ", "INFO ", "x=", ": [",
    "Capture ", "Capturing ", "Decode batch", "Decode batch, #running-req: 1 ", "iter = 1, ",
    "Avg prompt throughput: 1 tokens/s ", "Batchsize forward time stats : [", "CUDA graph warmup ",
    "1 GiB for CUDAGraph memory ", "Iteration(1): ", "Finish: obj= 'prompt_tokens': 1", '{"a":',
    "| Unpadded Tokens |", "- Capture sizes: [1", "Received request ", 'a{b="c",', "le=", "0-1",
    "{1:", "Running: ",
]  # fmt: skip
STARTS = [
    "", "prompt_tokens,output_tokens\n1,2\n", "bucket,requests\n0-1,2\n",
    "(APIServer pid=1) INFO 11-16 18:16:00 [a.py:1] **CUDAGraph Stats:**\n- Capture sizes: [1\n",
    "[2026-04-05 20:02:51 TP0] Decode batch, #running-req: 3, cuda graph: True\n",
    '# TYPE vllm:request_prompt_tokens histogram\nvllm:request_prompt_tokens_bucket{le="1"} 2\n',
    "time,prompt_tokens,output_tokens\n2026-01-01,1,1\n2026/",
]  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
def test_no_text_makes_matching_slow(start: str) -> None:
    """A hundred thousand repeats of anything that a pattern looks for cost next to nothing."""
    for piece in REPEATED:
        text = start + piece * (100_000 // len(piece)) + "x"
        begin = time.process_time()
        with contextlib.suppress(ProjectError):
            read(text.encode())
        assert time.process_time() - begin < 1.0, piece
