"""Small packed files that are slow to take apart: bounds on bytes and members, not on seconds."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import FileContentError
from core.readers import read
from core.readers.common import containers
from core.readers.common.members import (
    CHUNK_BYTES,
    FIRST_PIECE_BYTES,
    MAX_EMPTY_MEMBERS,
    GzipMember,
    MembersReader,
    xz_member,
)

TABLE = b"input_tokens,output_tokens\n" + b"8,2\n9,3\n" * 40
EMPTY = {"gzip": gzip.compress(b""), "xz": lzma.compress(b"")}
MEMBER = {"gzip": GzipMember, "xz": xz_member}
PACK = {"gzip": gzip.compress, "xz": lzma.compress}


def named(data: bytes, name_bytes: int, flag: int = 0x08) -> bytes:
    """A gzip member with a name (or, flag 0x10, a comment) of so many bytes."""
    plain = gzip.compress(data)
    return plain[:3] + bytes([flag]) + plain[4:10] + b"n" * name_bytes + b"\0" + plain[10:]


@pytest.mark.parametrize("flag", [0x08, 0x10])
def test_a_name_of_4_mb_is_fed_once(flag: int) -> None:
    """Each byte of a long header goes to the decoder once, and the content is read."""
    packed = named(TABLE, 4 << 20, flag)
    reader = MembersReader(io.BytesIO(packed), GzipMember, "t")
    assert io.BufferedReader(reader).read() == TABLE
    assert reader.fed_bytes == len(packed)
    assert read(packed, name="t").kept == 80


@pytest.mark.parametrize("codec", EMPTY)
def test_empty_members_end_in_one_sentence(codec: str) -> None:
    """200,000 empty members are given up at the bound; what was fed is a few pieces a member."""
    packed = EMPTY[codec] * 200_000
    reader = MembersReader(io.BytesIO(packed), MEMBER[codec], "t")
    with pytest.raises(FileContentError, match="empty members"):
        reader.read(1)
    assert reader.fed_bytes <= (MAX_EMPTY_MEMBERS + 1) * FIRST_PIECE_BYTES
    with pytest.raises(FileContentError, match="empty members"):
        read(packed, name="t")


@pytest.mark.parametrize("codec", EMPTY)
@given(
    parts=st.lists(st.binary(max_size=3000), min_size=1, max_size=12),
    zeros=st.integers(0, 300),
    take=st.sampled_from([1, 7, 1 << 20]),
)
def test_members_read_as_the_standard_library_does(
    codec: str, parts: list[bytes], zeros: int, take: int
) -> None:
    """Any members, zeros between them, any size of read: the bytes of all, in order."""
    packed = b"".join(PACK[codec](part) + bytes(4 * zeros) for part in parts)
    reader = io.BufferedReader(MembersReader(io.BytesIO(packed), MEMBER[codec], "t"), take)
    assert reader.read() == b"".join(parts)


def test_trailing_zeros_are_passed_over_in_chunks() -> None:
    """16 MiB of zeros after the data cost one read a chunk, and nothing goes to a decoder."""

    class Counting(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            return super().read(size)

    data = gzip.compress(TABLE)
    stream = Counting(data + bytes(16 << 20))
    reader = MembersReader(stream, GzipMember, "t")
    assert io.BufferedReader(reader).read() == TABLE
    assert stream.reads <= (16 << 20) // CHUNK_BYTES + 4
    assert reader.fed_bytes <= len(data) + 2 * FIRST_PIECE_BYTES


@pytest.mark.parametrize("codec", EMPTY)
def test_fed_bytes_stay_within_three_times_the_file(codec: str) -> None:
    """Members of growing length: a piece beyond a member's end is no longer than the member."""
    packed = b"".join(PACK[codec](bytes(range(256)) * n) for n in range(1, 200))
    reader = MembersReader(io.BytesIO(packed), MEMBER[codec], "t")
    io.BufferedReader(reader).read()
    assert reader.fed_bytes <= 3 * len(packed) + 200 * FIRST_PIECE_BYTES


@pytest.mark.parametrize("damage", ["cut", "bits", "garbage"])
def test_damaged_gzip_is_one_sentence(damage: str) -> None:
    packed = gzip.compress(TABLE)
    broken = {
        "cut": packed[:-5],
        "bits": packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:],
        "garbage": packed + b"garbage after the end",
    }[damage]
    with pytest.raises(FileContentError, match="breaks off or is damaged"):
        read(broken, name="t")


def test_a_long_list_of_overlapping_files_is_not_read() -> None:
    """70,000 entries that name one file: refused by the list's length alone."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", TABLE)
    whole = out.getvalue()
    start = whole.index(b"PK\x01\x02")
    entry, end = whole[start : whole.index(b"PK\x05\x06")], whole[whole.index(b"PK\x05\x06") :]
    listed = entry * 70_000
    assert len(listed) > containers.MAX_ZIP_LIST_BYTES
    ending = end[:8] + struct.pack("<HHLL", 4464, 4464, len(listed), start) + end[20:]
    with pytest.raises(FileContentError, match="list of files has 3,290,000 bytes"):
        read(whole[:start] + listed + ending, name="t")
