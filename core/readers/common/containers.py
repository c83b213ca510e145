"""Compressed files and archives, recognised by their first bytes."""

from __future__ import annotations

import bz2
import io
import lzma
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from core.errors import FileContentError
from core.readers.common.members import GzipMember, MembersReader, xz_member

Opener = Callable[[], BinaryIO]

CHUNK_BYTES = 1 << 20
SPOOL_BYTES = 32 << 20
PACKED_CHUNK_BYTES = 64 << 10
RATIO_FLOOR_BYTES = 32 << 20
MAX_RATIO = 100
"""Past the floor, a stream this many times its packed size is taken for an inflate bomb; logs and
traces reach 5 to 40."""

MAX_ZIP_LIST_BYTES = 3 << 20
"""An archive's list of files: about 30,000 names of usual length."""
_DIRECTORY_BYTES = 5
"""Where zipfile's end record keeps the length of the list."""

_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError)


def _open_zstd(packed: BinaryIO, name: str) -> BinaryIO:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")  # type: ignore[return-value]


def _open_gzip(packed: BinaryIO, name: str) -> BinaryIO:
    return io.BufferedReader(MembersReader(packed, GzipMember, name))


def _open_xz(packed: BinaryIO, name: str) -> BinaryIO:
    return io.BufferedReader(MembersReader(packed, xz_member, name))


def _open_bzip2(packed: BinaryIO, name: str) -> BinaryIO:
    return io.BufferedReader(bz2.BZ2File(packed))


_CODECS: tuple[tuple[str, bytes, Callable[[BinaryIO, str], BinaryIO]], ...] = (
    ("gzip", b"\x1f\x8b", _open_gzip),
    ("zstd", b"\x28\xb5\x2f\xfd", _open_zstd),
    ("bzip2", b"BZh", _open_bzip2),
    ("xz", b"\xfd7zXZ\x00", _open_xz),
)


class _Counted(io.RawIOBase):
    """A stream that knows how many bytes were taken from it."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)


class CappedReader(io.RawIOBase):
    """A packed stream that ends in one sentence when it is broken or grows too large.

    consumed : packed bytes taken so far
    """

    def __init__(
        self,
        inner: BinaryIO,
        what: str,
        name: str,
        consumed: Callable[[], int],
        limit: int,
        owned: tuple[Any, ...] = (),
    ) -> None:
        self._inner = inner
        self._owned = owned
        self._consumed = consumed
        self._what = what
        self._name = name
        self._limit = limit
        self._seen = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            data = self._inner.read(len(buffer))
        except FileContentError:
            raise
        except _BROKEN as error:
            raise FileContentError(
                f"{self._name}: the {self._what} data breaks off or is damaged after "
                f"{self._seen:,} bytes; pack or copy the file again."
            ) from error
        self._seen += len(data)
        self._check()
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            for stream in (self._inner, *self._owned):
                stream.close()
        super().close()

    def _check(self) -> None:
        if self._seen > self._limit:
            raise FileContentError(
                f"{self._name}: the {self._what} data grows past {self._limit:,} bytes; unpack it, "
                "cut it, or raise the limit (max_inflated_bytes)."
            )
        if self._seen > RATIO_FLOOR_BYTES and self._seen > MAX_RATIO * self._consumed():
            raise FileContentError(
                f"{self._name}: the {self._what} data grows to more than {MAX_RATIO} times its "
                "size, which no trace or log does; unpack it and give the plain file."
            )


def spooled(packed: Opener) -> Opener:
    """The same bytes where they can seek: in memory while small, else in a temporary file."""

    def opener() -> BinaryIO:
        spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115
        with packed() as stream:
            while data := stream.read(CHUNK_BYTES):
                spool.write(data)
        spool.seek(0)
        return spool  # type: ignore[return-value]

    return opener


def codec_of(magic: bytes) -> str | None:
    """ "gzip", "zstd", "bzip2" or "xz"; None for anything else."""
    return next((name for name, start, _ in _CODECS if magic.startswith(start)), None)


def inflated(packed: Opener, codec: str, name: str, limit: int) -> Opener:
    """An opener of the unpacked bytes, which reads from the start each time it is called."""
    decode = next(make for known, _, make in _CODECS if known == codec)

    def opener() -> BinaryIO:
        stream = packed()
        counted = _Counted(stream)
        inner = decode(io.BufferedReader(counted, PACKED_CHUNK_BYTES), name)
        capped = CappedReader(inner, codec, name, lambda: counted.taken, limit, (stream,))
        return io.BufferedReader(capped, CHUNK_BYTES)

    return opener


def zip_members(packed: Opener, name: str) -> list[zipfile.ZipInfo]:
    """The data files of an archive, largest first; folders and desktop litter are left out.

    Raises FileContentError when the archive is damaged, locked, or holds a link or a path that
    climbs out.
    """
    try:
        with packed() as stream:
            _check_entries(stream, name)
            with zipfile.ZipFile(stream) as archive:
                infos = archive.infolist()
    except _BROKEN as error:
        raise FileContentError(f"{name}: the zip archive is damaged; pack it again.") from error
    for info in infos:
        parts = info.filename.replace("\\", "/").split("/")
        if ".." in parts or info.filename.startswith(("/", "\\")):
            raise FileContentError(
                f"{name}: the archive holds a path that leaves its folder; pack the file alone."
            )
        if stat.S_ISLNK(info.external_attr >> 16):
            raise FileContentError(
                f"{name}: the archive holds a link to another file; pack the file itself."
            )
    data = [i for i in infos if not i.is_dir() and not _is_litter(i.filename)]
    for info in data:
        if info.flag_bits & 0x1:
            raise FileContentError(f"{name}: the archive is locked by a password; unpack it first.")
    return sorted(data, key=lambda i: (-i.file_size, i.filename))


def _check_entries(stream: BinaryIO, name: str) -> None:
    """Refuse a long list of files before it is read; the end of an archive says how long it is."""
    end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]  # pyright: ignore
    stream.seek(0)
    if end is not None and end[_DIRECTORY_BYTES] > MAX_ZIP_LIST_BYTES:
        raise FileContentError(
            f"{name}: the archive's list of files has {end[_DIRECTORY_BYTES]:,} bytes, more than "
            f"the {MAX_ZIP_LIST_BYTES:,} that are read; pack the data file alone."
        )


def _is_litter(path: str) -> bool:
    parts = path.split("/")
    return "__MACOSX" in parts or parts[-1].startswith(".")


def zip_member(packed: Opener, member: zipfile.ZipInfo, name: str, limit: int) -> Opener:
    """An opener of one member of an archive."""

    def opener() -> BinaryIO:
        stream = packed()
        try:
            archive = zipfile.ZipFile(stream)
            inner = archive.open(member)
        except (*_BROKEN, NotImplementedError, RuntimeError) as error:
            raise FileContentError(
                f"{name}: {member.filename} cannot be unpacked; unpack the archive first."
            ) from error
        owned = (archive, stream)

        def consumed() -> int:
            return stream.tell() - member.header_offset

        capped = CappedReader(inner, "zip", name, consumed, limit, owned)  # type: ignore[arg-type]
        return io.BufferedReader(capped, CHUNK_BYTES)

    return opener
