"""Packed files, archives, encodings, and what is refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import FileContentError, UnknownFormatError
from core.readers import ReadOptions, read
from tests.core.readers.sample import TRACES

PLAIN = (TRACES / "azure_conv.csv").read_bytes()


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


HALF = PLAIN.index(b"\n", len(PLAIN) // 2) + 1
PACKED = {
    "gzip": gzip.compress(PLAIN),
    "gzip, two members": gzip.compress(PLAIN[:HALF]) + gzip.compress(PLAIN[HALF:]),
    "bzip2": bz2.compress(PLAIN),
    "bzip2, two streams": bz2.compress(PLAIN[:HALF]) + bz2.compress(PLAIN[HALF:]),
    "xz": lzma.compress(PLAIN),
    "xz, two streams": lzma.compress(PLAIN[:HALF]) + lzma.compress(PLAIN[HALF:]),
    "zstd": zstd(PLAIN),
    "zstd, two frames": zstd(PLAIN[:HALF]) + zstd(PLAIN[HALF:]),
    "zip": zipped(
        **{"data/trace.csv": PLAIN, "__MACOSX/data/._trace.csv": b"x", ".DS_Store": b"y"}
    ),
    "gzip in zip": zipped(**{"trace.csv.gz": gzip.compress(PLAIN)}),
    "zip in gzip": gzip.compress(zipped(**{"trace.csv": PLAIN})),
}


@pytest.mark.parametrize("how", PACKED)
def test_every_container_gives_the_same_trace(how: str, tmp_path: Path) -> None:
    """Bytes decide, not names; several members and frames are all read; litter is skipped."""
    path = tmp_path / "upload.txt"
    path.write_bytes(PACKED[how])
    for source in (PACKED[how], path):
        reading = read(source)
        assert reading.kept == 400 and reading.trace is not None
        assert int(reading.trace.prompt_tokens.sum()) == 371046


@pytest.mark.parametrize("how", ["gzip", "bzip2", "xz", "zstd", "zip", "zip in gzip"])
@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_cut_container_is_a_sentence(how: str, cut: float) -> None:
    """A packed file that breaks off says so."""
    packed = PACKED[how]
    with pytest.raises((FileContentError, UnknownFormatError), match="damaged|breaks off"):
        read(packed[: int(len(packed) * cut)])


def test_several_files_in_an_archive() -> None:
    """The largest is read and the names of all can be chosen from."""
    data = zipped(**{"small.csv": b"prompt_tokens,output_tokens\n1,2\n", "big.csv": PLAIN})
    reading = read(data)
    assert reading.kept == 400 and reading.facts["parts"] == ["big.csv", "small.csv"]
    assert any("small.csv" in warning for warning in reading.warnings)
    assert read(data, options=ReadOptions(part="small.csv")).kept == 1


def test_servegen_pair_in_one_archive() -> None:
    """With the rates beside it, a window weighs as many requests as it had."""
    dataset = (
        b'{"0": {"input_tokens": "{10: 1.0}", "output_tokens": "{1: 1.0}"},'
        b' "1200": {"input_tokens": "{20: 0.5, 30: 0.5}", "output_tokens": "{2: 1.0}"},'
        b' "2400": {"input_tokens": "{}", "output_tokens": "{}"}}'
    )
    rates = b"0,1.0,1,Gamma,1,1\n600,0.0,1,,1,1\n1200,3.0,1,Gamma,1,1\n1800,0.0,1,,1,1\n"
    alone = read(dataset)
    assert alone.prompt_lengths is not None and alone.prompt_lengths.is_share
    assert alone.facts["prompt_mean_tokens"] == 17.5  # (10 + 25) / 2
    assert alone.dropped == {"idle window": 1}
    pair = read(zipped(**{"chunk-1-dataset.json": dataset, "chunk-1-trace.csv": rates}))
    assert pair.facts["prompt_mean_tokens"] == 21.25  # (1 x 10 + 3 x 25) / 4
    assert pair.prompt_lengths is not None
    assert pair.prompt_lengths.counts.tolist() == [0.25, 0.375, 0.375]


def test_servegen_literals_are_parsed_not_evaluated() -> None:
    """Anything but numbers in a dictionary is refused, never run."""
    bad = (
        b'{"0": {"input_tokens": "{__import__(\'os\').getpid(): 1}", "output_tokens": "{1: 1}"},'
        b' "9": {"input_tokens": "{5: 1.0}", "output_tokens": "{1: 1.0}"}}'
    )
    assert read(bad).dropped == {"window that cannot be read": 1}


REFUSED = {
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
    "Excel": (zipped(**{"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "Excel"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 60, "Excel"),
    "sqlite": (b"SQLite format 3\0" + b"\0" * 60, "SQLite"),
    "tar": (b"a" * 100 + b"\0" * 157 + b"ustar" + b"\0" * 300, "tar archive"),
    "PDF": (b"%PDF-1.4 ...", "PDF"),
    "web page": (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
    "empty": (b"  \n ", "empty"),
    "text": (b"Dear all, here are the numbers, as promised.\nBest, Ann\n", "no kind we read"),
    "binary": (bytes(range(256)) * 4, "binary"),
    "cut JSON": (b'{"benchmarks": [{"a": 1}, {"b"', "not JSON to its end"),
    "texts": (b'{"conversations": [{"value": "secret"}]}', "without token counts"),
    "request log": (
        b"INFO 11-30 Received request c-1: params: max_tokens=5\n" * 3,
        "without their",
    ),
    "other log": (b"2026-01-01 INFO starting\n2026-01-01 INFO ready\n", "a log without a message"),
    "YAML": (b"version: 0.1\nscenario:\n  host: x\n", "YAML"),
    "other JSON": (b'{"a": 1, "b": 2}', "keys 'a', 'b'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_name(what: str) -> None:
    """Known files that hold no data we read get one sentence on what to do instead."""
    data, sentence = REFUSED[what]
    with pytest.raises(UnknownFormatError, match=sentence) as caught:
        read(data, name="upload.csv")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("upload.csv")


def test_private_text_is_not_in_refusals() -> None:
    """A text that is no table is not quoted, and long keys are not shown."""
    with pytest.raises(UnknownFormatError) as caught:
        read(b"My password is hunter2, and my dog, Rex, is nice.\nI said, well, no.\n")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(UnknownFormatError) as caught:
        read(b'{"Please summarise: my salary is 5!": 1, "b": "c"}')
    assert "salary" not in str(caught.value)


def test_archives_that_climb_out_or_are_locked() -> None:
    """Paths with .. and absolute paths are refused."""
    for name in ("../../etc/passwd", "/etc/passwd", "a\\..\\b"):
        with pytest.raises(FileContentError, match="leaves its folder"):
            read(zipped(**{name: PLAIN}))
    locked = bytearray(PACKED["zip"])
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + offset] |= 1
    with pytest.raises(FileContentError, match="password"):
        read(bytes(locked))
    with pytest.raises(FileContentError, match="holds no file"):
        read(zipped(**{".DS_Store": b"x"}))


def test_archives_with_links_are_refused() -> None:
    """A link in an archive is a path in disguise: it is named, never followed or read."""
    out = io.BytesIO()
    link = zipfile.ZipInfo("trace.csv")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(link, "/etc/passwd")
        packed.writestr("other.csv", PLAIN)
    with pytest.raises(FileContentError, match="holds a link"):
        read(out.getvalue())


def test_array_in_an_archive_of_other_files() -> None:
    """An .npy beside a text is chosen like any other member."""
    out = io.BytesIO()
    np.save(out, np.arange(1, 50))
    assert read(zipped(**{"a.npy": out.getvalue(), "b.txt": b"x"})).format == "numpy"
