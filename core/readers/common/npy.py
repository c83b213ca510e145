"""NumPy's .npy files: numbers only, checked against the bytes that are there.

An object array is a pickle and is never loaded. The header is matched, never evaluated.
Source: the .npy format, versions 1 to 3.
"""

from __future__ import annotations

import io
import re
from typing import Any, BinaryIO

import numpy as np

from core.errors import FileContentError, UnknownFormatError

MAGIC = b"\x93NUMPY"
MAX_ITEMS = 150_000_000
MAX_HEADER_BYTES = 1 << 16

_DESCR = re.compile(r"'descr':\s*('[^']*'|\[)")
_ORDER = re.compile(r"'fortran_order':\s*(True|False)")
_SHAPE = re.compile(r"'shape':\s*\(([\d,L\s]*)\)")
_NUMBER = re.compile(r"[<>=|]?[iuf]\d{1,2}$")


def read_npy(stream: BinaryIO, name: str) -> np.ndarray[Any, Any]:
    """The array. Raises UnknownFormatError for object arrays, FileContentError for damaged ones."""
    dtype, fortran, shape = _header(stream, name)
    items = 1
    for size in shape:
        items *= size
    start = stream.tell()
    there = stream.seek(0, io.SEEK_END) - start
    if items > MAX_ITEMS or items * dtype.itemsize > there:
        raise FileContentError(
            f"{name}: the header promises {items:,} numbers but the file has room for "
            f"{there // dtype.itemsize:,}; it was cut, or is too large."
        )
    stream.seek(start)
    data = stream.read(items * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _header(stream: BinaryIO, name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    head = stream.read(8)
    width = 2 if head[6:7] == b"\x01" else 4
    length = int.from_bytes(stream.read(width), "little")
    text = stream.read(length).decode("latin-1") if length <= MAX_HEADER_BYTES else ""
    descr, order, shape = (pattern.search(text) for pattern in (_DESCR, _ORDER, _SHAPE))
    if head[:6] != MAGIC or len(text) != length or not (descr and order and shape):
        raise FileContentError(
            f"{name}: the .npy header is damaged; save the array again with numpy.save."
        )
    kind = descr[1].strip("'")
    if "O" in kind:
        raise UnknownFormatError(
            f"{name}: an array of Python objects is a pickle, which can run code and is never "
            "loaded; save whole numbers (numpy.save of an integer array)."
        )
    try:
        dtype = np.dtype(kind) if _NUMBER.match(kind) else None
    except TypeError:
        dtype = None
    if dtype is None:
        raise FileContentError(f"{name}: the array holds no plain numbers; save whole numbers.")
    sizes = tuple(int(part[:18]) for part in re.findall(r"\d+", shape[1]))
    return dtype, order[1] == "True", sizes
