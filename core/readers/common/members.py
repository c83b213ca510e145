"""gzip and xz files of many members, unpacked one after the other in linear time.

A decoder hands back a copy of what it was given beyond the end of its member, so a member is fed
little at first and twice as much each time: what is copied stays below what the member took.
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from core.errors import FileContentError

CHUNK_BYTES = 64 << 10
FIRST_PIECE_BYTES = 256
XZ_MEMORY_BYTES = 256 << 20
MAX_EMPTY_MEMBERS = 10_000
"""Members without a byte in one file; no tool writes them, and each costs a decoder."""
_GZIP_WBITS = 31


class Decoder(Protocol):
    """What lzma's decompressor offers."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class GzipMember:
    """One member of a gzip file: header, data and check sum, all read by zlib."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(_GZIP_WBITS)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail and not self._full

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self._full = len(out) == max_length  # zlib may hold more without any input left
        return out


def xz_member() -> lzma.LZMADecompressor:
    """One stream of xz, with a limit on the dictionary's memory."""
    return lzma.LZMADecompressor(memlimit=XZ_MEMORY_BYTES)


class MembersReader(io.RawIOBase):
    """The unpacked bytes of all members. Zeros between and after members are skipped.

    fed_bytes : bytes given to decoders so far, those given twice counted twice
    Raises EOFError when the last member is cut, FileContentError on too many empty members, and
    what the decoder raises on damage.
    """

    def __init__(self, packed: BinaryIO, member: Callable[[], Decoder], name: str) -> None:
        self._packed = packed
        self._member = member
        self._name = name
        self._decoder: Decoder | None = None
        self._chunk, self._at = b"", 0
        self._piece = FIRST_PIECE_BYTES
        self._made = 0
        self._empty = 0
        self.fed_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while True:
            if self._decoder is None and not self._start():
                return 0
            assert self._decoder is not None
            data = self._next_piece() if self._decoder.needs_input else b""
            out = self._decoder.decompress(data, len(buffer))
            self._made += len(out)
            if self._decoder.eof:
                self._end(self._decoder)
            if out:
                buffer[: len(out)] = out
                return len(out)

    def _start(self) -> bool:
        """Begin the next member; False at the end of the file."""
        while True:
            if self._at >= len(self._chunk) and not self._refill():
                return False
            if self._chunk[self._at]:
                break
            self._chunk, self._at = self._chunk[self._at :].lstrip(b"\0"), 0
        self._decoder, self._piece, self._made = self._member(), FIRST_PIECE_BYTES, 0
        return True

    def _refill(self) -> bool:
        self._chunk, self._at = self._packed.read(CHUNK_BYTES), 0
        return bool(self._chunk)

    def _next_piece(self) -> bytes:
        if self._at >= len(self._chunk) and not self._refill():
            raise EOFError("the stream ends early")
        piece = self._chunk[self._at : self._at + self._piece]
        self._at += len(piece)
        self._piece = min(2 * self._piece, CHUNK_BYTES)
        self.fed_bytes += len(piece)
        return piece

    def _end(self, decoder: Decoder) -> None:
        self._at -= len(decoder.unused_data)  # always from the piece just taken
        self._decoder = None
        self._empty += self._made == 0
        if self._empty > MAX_EMPTY_MEMBERS:
            raise FileContentError(
                f"{self._name}: the packed file holds more than {MAX_EMPTY_MEMBERS:,} empty "
                "members; unpack it and give the plain file."
            )
