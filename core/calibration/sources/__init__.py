"""Files that tell step times -> Evidence; one module a kind of file, decided by content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from core.calibration.evidence import Evidence
from core.calibration.sources import (
    decode_table,
    engine_run,
    sglang_log,
    step_table,
    trtllm_log,
    trtllm_stats,
    vllm_log,
)
from core.errors import FileContentError, ProjectError
from core.readers.common.head import Head
from core.readers.common.source import open_source
from core.readers.options import ReadOptions
from core.text.plain_text import plain_line

MAX_NAME_CHARS = 120
SOURCES = (engine_run, decode_table, trtllm_stats, vllm_log, sglang_log, trtllm_log, step_table)
"""Each has `read(source, head) -> Evidence | None`; None: the content is of another kind."""


def read_evidence(
    source: bytes | str | Path | BinaryIO, *, name: str = "", part: str | None = None
) -> Evidence:
    """Read one file; str and Path are paths on disk. Packed files are unpacked.

    part : which run or archive member to read where a file holds several; None: the first
    Raises FileContentError or UnknownFormatError in one sentence, OSError.
    """
    opened = open_source(source, name, ReadOptions(part=part))
    try:
        head = Head(opened)
        for module in SOURCES:
            found = module.read(opened, head)
            if found is not None:
                return replace(found, name=plain_line(found.name)[:MAX_NAME_CHARS])
    except (ProjectError, OSError):
        raise
    except Exception as error:  # content of a shape no source foresaw is still the file's doing
        raise FileContentError(
            f"{opened.name}: its content has a shape that cannot be read "
            f"({type(error).__name__}); docs/calibration.md shows what can."
        ) from error
    raise FileContentError(
        f"{opened.name}: no step times found; give a recorded run (JSON), a log with a line a step "
        "(vLLM --enable-logging-iteration-details, TensorRT-LLM print_iter_log), or a table with "
        "columns batch and step_us."
    )
