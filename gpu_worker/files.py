"""Files that the measuring command reads and writes; whatever is wrong with one is a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.errors import InputError, RecordError


def read_json(path: Path, what: str) -> Any:
    """The document in a file.

    what : which document is expected, for the way out, e.g. "a MeasureSpec"
    Raises InputError if the file cannot be read, RecordError if it holds no JSON.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is no text in UTF-8; give {what} as JSON.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_why(error)}; give {what} as JSON.") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}: {error.msg}"
        raise RecordError(f"{path} is no JSON ({where}); give {what} as JSON.") from error
    except (RecursionError, ValueError) as error:
        raise RecordError(f"{path} is no JSON that can be read; give {what}.") from error


def check_writable(path: Path) -> None:
    """Before anything is measured. Raises InputError where the file could not be written."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"--out {path} is a folder; name a file, such as {path / 'profile.json'}.")
    if not folder.is_dir():
        raise InputError(f"--out {path}: there is no folder {folder}; make it, or name another.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"--out {path} may not be written; name another file.")


def write_text(path: Path, text: str) -> None:
    """Raises InputError where the disk refuses."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"--out {path} cannot be written: {_why(error)}.") from error


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
