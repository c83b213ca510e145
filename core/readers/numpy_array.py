"""NumPy arrays: .npy, or one of several in an .npz."""

from __future__ import annotations

import zipfile

from core.errors import FileContentError
from core.readers.common import containers
from core.readers.common.arrays import array_reading
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.npy import read_npy
from core.readers.common.requests import Notes
from core.readers.common.runs import choose_parts
from core.readers.common.source import Source
from core.readers.options import ALL_PARTS, ReadOptions
from core.readers.reading import Reading

MAGIC = b"\x93NUMPY"


def detect(head: Head, options: ReadOptions) -> bool:
    return head.raw.startswith((MAGIC, b"PK\x03\x04"))


def read_numpy(source: Source, head: Head, options: ReadOptions) -> Reading:
    """n lengths, n x 2 prompt and output, n x 3 arrival, prompt and output."""
    notes = Notes()
    if head.raw.startswith(MAGIC):
        with source.open_seekable() as stream:
            array = read_npy(stream, source.name)
        return array_reading(array, FORMAT.name, FORMAT.label, source.name, options, notes)
    with source.open_seekable() as stream:
        members = _members(stream, source.name)
        names = [info.filename.removesuffix(".npy") for info in members]
        if options.part == ALL_PARTS:
            raise FileContentError(f"{source.name}: arrays cannot be pooled; choose one of them.")
        index = choose_parts(names, options, notes, source.name)[0]
        limit = options.max_inflated_bytes
        opener = containers.zip_member(lambda: stream, members[index], source.name, limit)
        with containers.spooled(opener)() as member:
            array = read_npy(member, source.name)
    return array_reading(array, FORMAT.name, FORMAT.label, source.name, options, notes)


def _members(stream, name: str) -> list[zipfile.ZipInfo]:  # type: ignore[no-untyped-def]
    try:
        infos = zipfile.ZipFile(stream).infolist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise FileContentError(f"{name}: the .npz archive is damaged; save it again.") from error
    stream.seek(0)
    return [info for info in infos if info.filename.endswith(".npy")]


FORMAT = Format("numpy", "NumPy array (.npy, .npz)", detect, read_numpy, rank=2)
