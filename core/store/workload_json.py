"""A reading as JSON that may come from outside: account and arrays, every size checked first."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import RecordError
from core.readers.reading import Reading
from core.records.session_json import canonical
from core.store.workload_account import account_of, arrays_of, reading_from

MAX_PACKED_BYTES = 64 << 20
MAX_PLAIN_BYTES = 512 << 20
MAX_ROWS = 20_000_000
MAX_ACCOUNT_BYTES = 4 << 20
DAMAGED = "The workload cannot be read"
_TYPES = {"int64": "<i8", "float64": "<f8"}


def workload_to_json(reading: Reading) -> dict[str, Any]:
    """Digest, account and arrays; raises RecordError where it is larger than a file takes."""
    account, arrays = account_of(reading), arrays_of(reading)
    packed = {name: _packed(array) for name, array in arrays.items()}
    size = sum(len(array["gzip_base64"]) for array in packed.values())
    if size > MAX_PACKED_BYTES:
        raise RecordError(
            f"The workload takes {size >> 20} MiB packed; a file holds {MAX_PACKED_BYTES >> 20} "
            "MiB at most. Upload a shorter part of the trace."
        )
    return {"digest": digest_of_parts(account, arrays), "account": account, "arrays": packed}


def workload_from_json(data: Any, where: str = "workload") -> Reading:
    """What `workload_to_json` wrote, every field checked, its content by its digest.

    Raises RecordError on anything else, oversize and inflate bombs included.
    """
    values = _fields(data, {"digest", "account", "arrays"}, where)
    if not isinstance(values["account"], Mapping) or not isinstance(values["arrays"], Mapping):
        raise RecordError(f"{DAMAGED}: account and arrays must be objects.")
    arrays, left = {}, MAX_PLAIN_BYTES
    for name, packed in values["arrays"].items():
        arrays[name] = _unpacked(packed, f"{where}.arrays.{name}", left)
        left -= arrays[name].nbytes
    made = reading_from(values["account"], arrays)
    check_digest(made, values["digest"])
    return made


def digest_of_parts(account: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of the content as 64 hex digits, whatever it is packed in."""
    total = hashlib.sha256(canonical(account).encode())
    for name, array in sorted(arrays.items()):
        total.update(f"\n{name} {array.dtype} {len(array)}\n".encode())
        total.update(np.ascontiguousarray(array, _TYPES[array.dtype.name]).data)
    return total.hexdigest()


def check_digest(reading: Reading, digest: Any) -> None:
    """Raises RecordError if the reading is not the one that the digest names."""
    if digest_of_parts(account_of(reading), arrays_of(reading)) != digest:
        raise RecordError(f"{DAMAGED}: its content does not have the digest {str(digest)[:80]}.")


def inflated(data: bytes, max_bytes: int) -> bytes:
    """The gzip's content. Raises RecordError at max_bytes, and on damage."""
    decoder = zlib.decompressobj(wbits=31)
    try:
        plain = decoder.decompress(data, max_bytes + 1)
    except zlib.error as error:
        raise RecordError(f"{DAMAGED}: it is not packed as expected ({error}).") from error
    if len(plain) > max_bytes:
        raise RecordError(f"{DAMAGED}: it inflates to more than {max_bytes:,} bytes.")
    if not decoder.eof or decoder.unused_data:
        raise RecordError(f"{DAMAGED}: the packed bytes end early or go on after the end.")
    return plain


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    data = array.astype(_TYPES[array.dtype.name], copy=False).tobytes()
    return {
        "type": array.dtype.name,
        "count": len(array),
        "gzip_base64": base64.b64encode(gzip.compress(data, 6, mtime=0)).decode(),
    }


def _unpacked(data: Any, where: str, max_bytes: int) -> NDArray[Any]:
    values = _fields(data, {"type", "count", "gzip_base64"}, where)
    kind, count, text = values["type"], values["count"], values["gzip_base64"]
    if not isinstance(kind, str) or kind not in _TYPES or not isinstance(text, str):
        raise RecordError(f"{where}: the type must be one of {', '.join(_TYPES)}.")
    if type(count) is not int or not 0 <= count <= min(MAX_ROWS, max_bytes // 8):
        raise RecordError(f"{where}: count is {str(count)[:40]}; at most {MAX_ROWS:,} are read.")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError(f"{where}: the numbers are no base64 ({error}).") from error
    plain = inflated(packed, count * 8)
    if len(plain) != count * 8:
        raise RecordError(f"{where}: {len(plain)} bytes were found, {count * 8} are named.")
    return np.frombuffer(plain, _TYPES[kind]).astype(kind)


def _fields(data: Any, known: set[str], where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or set(data) != known:
        raise RecordError(f"{where}: an object with {', '.join(sorted(known))} is expected.")
    return data
