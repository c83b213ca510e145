"""Logs of engines that print no step sizes: what they state of their graphs and memory."""

from __future__ import annotations

from core.logs import minisglang, tgi
from core.logs.collect import LogForm
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_reading import (
    captured_set,
    detect_log,
    log_reading,
    notes_of,
    read_stated,
)
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import SizeUnit

HOW_TGI = "Scrape its metrics instead: tgi_batch_next_size counts every batch size."


def _format(form: LogForm, engine: str, how: str = "") -> Format:
    """Grade D: captures and memory alone."""

    def detect(head: Head, options: ReadOptions) -> bool:
        return detect_log(head, form.marks)

    def read_log(source: Source, head: Head, options: ReadOptions) -> Reading:
        log = read_stated(source, form)
        captured = captured_set(log, f"captured by {engine}", SizeUnit.REQUESTS)
        return log_reading(form, log, notes_of(log, engine), captured=captured, how=how)

    return Format(form.name, form.label, detect, read_log, form.rank, form.marks)


FORMATS_HERE = (
    _format(tgi.FORM, "TGI", HOW_TGI),
    _format(minisglang.FORM, "mini-sglang"),
)
