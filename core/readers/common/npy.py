"""NumPy's .npy files: numbers only, checked against the bytes that are there.

An object array is a pickle and is never loaded.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import numpy as np

from core.errors import FileContentError, UnknownFormatError

MAX_ITEMS = 150_000_000


def read_npy(stream: BinaryIO, name: str) -> np.ndarray[Any, Any]:
    """The array. Raises UnknownFormatError for object arrays, FileContentError for damaged ones."""
    try:
        version = np.lib.format.read_magic(stream)
        reader = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = reader(stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OSError) as error:
        raise FileContentError(
            f"{name}: the .npy header is damaged; save the array again with numpy.save."
        ) from error
    if dtype.hasobject:
        raise UnknownFormatError(
            f"{name}: an array of Python objects is a pickle, which can run code and is never "
            "loaded; save whole numbers (numpy.save of an integer array)."
        )
    if dtype.kind not in "iuf" or dtype.names:
        raise FileContentError(f"{name}: an array of {dtype} holds no lengths; save whole numbers.")
    items = 1
    for size in shape:
        items *= size
    start = stream.tell()
    there = stream.seek(0, io.SEEK_END) - start
    if items < 0 or items > MAX_ITEMS or items * dtype.itemsize > there:
        raise FileContentError(
            f"{name}: the header promises {items:,} numbers but the file has room for "
            f"{there // dtype.itemsize:,}; it was cut, or is too large."
        )
    stream.seek(0)
    try:
        return np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FileContentError(f"{name}: the .npy file is damaged; save it again.") from error
