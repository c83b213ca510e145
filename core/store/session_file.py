"""One session as one file, `NAME.bucketwise.json`: the document and its traffic.

Opened on another installation it gives the same numbers. History, comments, members and the ids of
jobs stay behind: they mean nothing there; what jobs measured travels as profiles.
"""

from __future__ import annotations

import re
from dataclasses import replace

from core.errors import RecordError
from core.readers.reading import Reading
from core.records.session import TuningSession
from core.records.session_json import canonical, parse_json, session_from_json, session_to_json
from core.store.workload_json import MAX_PACKED_BYTES, workload_from_json, workload_to_json

FILE_KIND = "bucketwise-session"
FILE_FORMAT = 1
SUFFIX = ".bucketwise.json"
MAX_FILE_BYTES = 2 * MAX_PACKED_BYTES
_KEYS = {"kind", "format", "session", "workload"}


def file_name(document: TuningSession) -> str:
    """A name of letters, digits and dashes, safe on every system."""
    words = re.sub(r"[^0-9A-Za-z]+", "-", document.name).strip("-")[:60]
    return f"{words or 'session'}{SUFFIX}"


def session_to_file(document: TuningSession, workload: Reading | None) -> bytes:
    """The file's bytes.

    workload : the reading that document.workload names; None if it names none
    Raises RecordError where they do not belong together, or are too large.
    """
    packed = None if workload is None else workload_to_json(workload)
    _belong_together(document, packed["digest"] if packed else None)
    return canonical(
        {
            "kind": FILE_KIND,
            "format": FILE_FORMAT,
            "session": session_to_json(replace(document, jobs=())),
            "workload": packed,
        }
    ).encode()


def session_from_file(data: bytes, name: str = "file") -> tuple[TuningSession, Reading | None]:
    """The document and its traffic, every field checked.

    Raises RecordError or InputError on anything that `session_to_file` does not write: another
    kind or version, damage, oversize, an inflate bomb, traffic that is not the one named.
    """
    if len(data) > MAX_FILE_BYTES:
        raise RecordError(
            f"{name} has {len(data) >> 20} MiB; a session file has {MAX_FILE_BYTES >> 20} at most."
        )
    values = parse_json(data, name)
    if not isinstance(values, dict) or values.get("kind") != FILE_KIND:
        raise RecordError(f"{name} is no session file; export one with the ending {SUFFIX}.")
    if type(values.get("format")) is not int or values["format"] != FILE_FORMAT:
        raise RecordError(
            f"{name} has format {values.get('format')!r}, this version reads {FILE_FORMAT}; "
            "update Bucketwise to open it."
        )
    if set(values) != _KEYS:
        odd = sorted(set(values) ^ _KEYS)[0]
        raise RecordError(f"{name}: field {odd[:80]!r} is unknown or missing.")
    document = replace(session_from_json(values["session"], f"{name}: session"), jobs=())
    packed = values["workload"]
    workload = None if packed is None else workload_from_json(packed, f"{name}: workload")
    _belong_together(document, None if packed is None else packed["digest"])
    return document, workload


def _belong_together(document: TuningSession, digest: str | None) -> None:
    named = document.workload.digest if document.workload else None
    if named != digest:
        raise RecordError(
            f"The session names workload {named or 'none'}, the traffic given with it is "
            f"{digest or 'none'}."
        )
