"""An opened upload: a stream that starts anew as often as asked, unpacked, as UTF-8, in chunks.

Knows containers and encodings; knows nothing of what the content means.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from core.errors import FileContentError
from core.logs.lines import Unended
from core.readers.common import containers
from core.readers.common.containers import CHUNK_BYTES, Opener
from core.readers.options import ReadOptions

HEAD_BYTES = 256 << 10
MAX_LINE_BYTES = 32 << 20
"""Longest line of a log or of JSON Lines: a request with its texts may take megabytes."""
MAX_DEPTH = 4

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class _Shared(io.RawIOBase):
    """A caller's open file, read from its start without ever closing it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Recoded(io.RawIOBase):
    """Text of another encoding, or with bare carriage returns, as UTF-8 with line feeds."""

    def __init__(self, inner: BinaryIO, encoding: str, bare_returns: bool) -> None:
        self._inner = inner
        self._decode = codecs.getincrementaldecoder(encoding)("replace").decode
        self._bare_returns = bare_returns
        self._ready = b""
        self._done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self._ready and not self._done:
            data = self._inner.read(CHUNK_BYTES)
            self._done = not data
            text = self._decode(data, self._done)
            self._ready = (text.replace("\r", "\n") if self._bare_returns else text).encode()
        out, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(out)] = out
        return len(out)


class Source:
    """One file to read. `head` holds its first unpacked bytes; `parts` the members of an archive.

    Raises FileContentError where the container is damaged, locked, or too large unpacked.
    """

    def __init__(self, opener: Opener, name: str, size: int | None, options: ReadOptions) -> None:
        self.name = name
        self.options = options
        self.parts: tuple[str, ...] = ()
        self.part: str | None = None
        self.used_parts: tuple[str, ...] = ()
        self.containers: tuple[str, ...] = ()
        self._opener, self._given, self._size = opener, opener, size
        self._unpack()
        with self._opener() as stream:
            raw = read_up_to(stream, HEAD_BYTES)
        self._encoding, self._skip = _encoding_of(raw)
        body = raw[self._skip :].decode(self._encoding, "replace")
        self._bare_returns = "\n" not in body and "\r" in body and "\0" not in body
        self.raw_head = raw
        with self.open() as stream:
            self.head = read_up_to(stream, HEAD_BYTES)
        self.complete = len(self.head) < HEAD_BYTES

    @property
    def size(self) -> int | None:
        """Bytes of the file as given [bytes]; None when unknown."""
        return self._size

    @property
    def is_packed(self) -> bool:
        return bool(self.containers)

    def open(self) -> BinaryIO:
        """The content from its start: unpacked; text as UTF-8 without a byte-order mark."""
        stream = self._opener()
        stream.read(self._skip)
        if self._encoding == "utf-8" and not self._bare_returns:
            return stream
        return io.BufferedReader(_Recoded(stream, self._encoding, self._bare_returns), CHUNK_BYTES)

    def open_seekable(self) -> BinaryIO:
        """The unpacked bytes in a stream that can seek; a temporary file where they were packed."""
        return containers.spooled(self._opener)() if self.is_packed else self._opener()

    def read_all(self, limit: int, what: str) -> bytes:
        """The whole content. Raises FileContentError when it is longer than limit [bytes]."""
        if not self.is_packed and self._size is not None and self._size > limit:
            raise _too_large(self.name, what, limit)
        with self.open() as stream:
            data = read_up_to(stream, limit + 1)
        if len(data) > limit:
            raise _too_large(self.name, what, limit)
        return data

    def lines(
        self, max_line_bytes: int = MAX_LINE_BYTES, wanted: re.Pattern[bytes] | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """(line number from 1, line without its end). Raises FileContentError on an endless one.

        wanted : lines without a match may be left out, which is quick where there are many
        """
        with self.open() as stream:
            yield from split_lines(stream, self.name, max_line_bytes, wanted)

    def sibling(self, part: str) -> Source:
        """Another member of the same archive."""
        self.used_parts += (part,)
        return Source(self._given, self.name, self._size, replace(self.options, part=part))

    def _unpack(self) -> None:
        limit = self.options.max_inflated_bytes
        for _ in range(MAX_DEPTH):
            with self._opener() as stream:
                magic = stream.read(8)
            codec = containers.codec_of(magic)
            if codec:
                self._opener = containers.inflated(self._opener, codec, self.name, limit)
            elif magic.startswith(b"PK\x03\x04") or magic.startswith(b"PK\x05\x06"):
                codec = "zip"
                if not self._enter_zip(limit):
                    return
            else:
                return
            self.containers += (codec,)
        raise FileContentError(
            f"{self.name}: packed more than {MAX_DEPTH} times over; unpack it first."
        )

    def _enter_zip(self, limit: int) -> bool:
        """Go into the archive; False where it is a document of its own (Excel, npz)."""
        opener = self._opener
        if self.containers:  # an archive inside a packed stream: zip needs to seek
            opener = containers.spooled(opener)
        members = containers.zip_members(opener, self.name)
        names = [m.filename for m in members]
        if any(n == "[Content_Types].xml" for n in names):
            return False
        if names and all(n.endswith(".npy") for n in names):
            return False
        if not members:
            raise FileContentError(f"{self.name}: the archive holds no file; pack the data in it.")
        wanted = self.options.part if self.options.part in names else names[0]
        self.parts, self.part = tuple(names), wanted
        member = next(m for m in members if m.filename == wanted)
        self._opener = containers.zip_member(opener, member, self.name, limit)
        return True


def _too_large(name: str, what: str, limit: int) -> FileContentError:
    return FileContentError(
        f"{name}: {what} of more than {limit >> 20} MiB cannot be read in one piece; "
        "split it, or write one record a line (JSON Lines)."
    )


def read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Up to size bytes, also from streams that give less at a time."""
    parts, left = [], size
    while left > 0 and (data := stream.read(min(left, CHUNK_BYTES))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def split_lines(
    stream: BinaryIO, name: str, max_line_bytes: int, wanted: re.Pattern[bytes] | None = None
) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of a binary stream, a chunk at a time."""
    number, pending, length = 0, [], 0
    while data := stream.read(CHUNK_BYTES):
        end = data.find(b"\n")
        pending.append(data if end < 0 else data[:end])
        length += len(pending[-1])
        if length > max_line_bytes:
            raise FileContentError(
                f"{name}, line {number + 1}: longer than {max_line_bytes >> 20} MiB; "
                "that is no table, log or JSON Lines file: check that its lines end."
            )
        if end < 0:
            continue
        number += 1
        yield number, b"".join(pending).rstrip(b"\r")
        start, last = end + 1, data.rfind(b"\n") + 1
        if wanted is not None and wanted.search(data, start, last) is None:
            number += data.count(b"\n", start, last)
        else:
            for line in data[start:last].split(b"\n")[:-1]:
                number += 1
                yield number, line.rstrip(b"\r")
        pending, length = [data[last:]], len(data) - last
    if length:
        yield number + 1, Unended(b"".join(pending).rstrip(b"\r"))


def _encoding_of(raw: bytes) -> tuple[str, int]:
    """(encoding, bytes of its mark)."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return encoding, len(mark)
    sample = raw[:400]
    if len(sample) >= 8 and len(sample) % 2 == 0 and sample.isascii():
        for encoding, zeros, letters in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
            if not any(sample[zeros::2]) and all(sample[letters::2]):
                return encoding, 0
    return "utf-8", 0


def open_source(source: bytes | str | Path | BinaryIO, name: str, options: ReadOptions) -> Source:
    """From bytes, a path, or an open binary file."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        if path.is_dir():
            raise FileContentError(f"{path}: a folder; give one file.")
        return Source(lambda: open(path, "rb"), name or path.name, path.stat().st_size, options)  # noqa: SIM115
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return Source(lambda: io.BytesIO(data), name or "upload", len(data), options)
    name = name or Path(str(getattr(source, "name", "") or "upload")).name
    if not (hasattr(source, "seekable") and source.seekable()):
        given = source
        source = containers.spooled(lambda: given)()
    size = source.seek(0, io.SEEK_END)
    return Source(lambda: io.BufferedReader(_Shared(source), CHUNK_BYTES), name, size, options)
