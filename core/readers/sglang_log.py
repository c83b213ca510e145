"""SGLang's log: decode lines (a sample of steps), prefill lines, captures, finished requests.

Source: message formats of releases 0.4.6 to 0.5.23 (docs/formats.md).
"""

from __future__ import annotations

import re

from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.log_facts import Progress, log_reading, note_facts, rule
from core.readers.common.log_text import detect_log, interest, iter_log
from core.readers.common.records_in import RecordCollector
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.sglang_lines import Captures, DecodeLines, PrefillLines, split_head
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading
from core.records import BucketSet, Origin, SizeUnit, StepHistogram

MARKS = re.compile(
    r"Decode batch[ \[\].,\d]{0,20}#running-req: \d+|Prefill batch[ \[\].,\d]{0,20}#new-seq: \d+"
    r"|Capture [\w ]{0,40}(?:cuda|CUDA) graph (?:begin|end|bs)"
    r"|Capturing batches \((?:bs|num_tokens)=|server_args=ServerArgs\(|Finish: obj="
)
DEFAULT_INTERVAL = 40
HOW = "Keep SGLang's decode lines in the log (--decode-log-interval 1 prints every step)."
RULES = (
    rule("max_total_num_tokens=", r"max_total_num_tokens=(?P<kv_tokens>\d+)"),
    rule("max_running_requests=", r"max_running_requests=(?P<max_running_requests>\d+)"),
    rule("context_len=", r"context_len=(?P<max_model_len>\d+)"),
    rule("chunked_prefill_size=", r"chunked_prefill_size=(?P<chunked_prefill_size>-?\d+)"),
    rule("available_gpu_mem=", r"available_gpu_mem=(?P<available_gib>[\d.]{1,12}) GB"),
    rule("KV Cache is allocated", r"#tokens: (?P<kv_tokens>\d+)"),
    rule("KV cache allocated", r"#tokens: (?P<kv_tokens>\d+), KV size: (?P<kv_gib>[\d.]{1,12}) GB"),
    rule("Load weight end", r"mem usage=(?P<weights_gib>[\d.]{1,12}) GB"),
    rule("decode_log_interval=", r"decode_log_interval=(?P<decode_log_interval>\d+)"),
)
_FINISH = re.compile(
    r"'prompt_tokens': (\d{1,9}).{0,2000}?'completion_tokens': (\d{1,9})", re.DOTALL
)
WANTED = interest(r"batch", r"Capt", r"Finish", r"=", r"allocated", r"Load weight", r"[Mm]emory")


def detect(head: Head, options: ReadOptions) -> bool:
    return detect_log(head, MARKS)


def read_sglang_log(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade A: each decode line stands for `decode_log_interval` steps (40 unless said)."""
    drops, finish_drops = Drops(), Drops()
    decode, prefill, captures = DecodeLines(drops), PrefillLines(), Captures()
    progress, notes = Progress(), Notes(facts={"engine": "SGLang"})
    clock = Clock(options.time_unit)
    finished = RecordCollector(clock, finish_drops)
    lines = 0
    for line in iter_log(source, WANTED):
        time, ranks, text = split_head(line.message)
        if text.startswith("Decode batch"):
            decode.feed(line.number, time, ranks, text)
        elif text.startswith("Prefill batch"):
            prefill.feed(text)
        elif "Finish: obj=" in text and (match := _FINISH.search(text)):
            lines += 1
            finished.add(line.number, int(match[1]), int(match[2]), time)
        else:
            captures.feed(ranks, text)
            progress.feed(text)
            note_facts(RULES, text, notes.facts)
    _capture_facts(captures, notes)
    notes.facts.update({**progress.facts(), **decode.facts(), **prefill.facts()})
    notes.warnings += progress.warnings()
    sizes = captures.decode_sizes
    captured = BucketSet("captured by SGLang", sizes, SizeUnit.REQUESTS) if sizes else None
    if not decode.sizes and lines:
        notes.warnings.append("Arrivals are the times at which requests ended.")
        return requests_reading(
            FORMAT.name, FORMAT.label, source.name, finished.finish(), finish_drops, notes, options
        )
    steps = _steps(decode, notes)
    return log_reading((FORMAT.name, FORMAT.label), steps, decode.rows, drops, notes, captured, HOW)


def _steps(decode: DecodeLines, notes: Notes) -> StepHistogram | None:
    if not decode.sizes:
        return None
    said = notes.facts.get("decode_log_interval")
    interval = said if isinstance(said, int) and 0 < said < 10**6 else DEFAULT_INTERVAL
    notes.warnings.append(
        f"Decode lines are a sample, one step in {interval}"
        + (" as the server's settings say" if said else " (the default)")
        + ": each was counted as that many steps."
    )
    if decode.accepted > 1:
        notes.warnings.append(
            "Speculative decoding: a graph covers the requests times their draft tokens."
        )
    origin = Origin.MEASURED if interval == 1 else Origin.ESTIMATED
    return StepHistogram.from_mapping(
        {size: interval * n for size, n in decode.sizes.items()},
        unit=SizeUnit.REQUESTS,
        origin=origin,
        duration_s=decode.duration_s(),
        source=f"SGLang decode lines, one in {interval} steps",
    )


def _capture_facts(captures: Captures, notes: Notes) -> None:
    found = captures.finish()
    if not found:
        return
    notes.facts["captures"] = found
    first = [item for item in found if item["rank"] == found[0]["rank"]]
    seconds = [item["elapsed_s"] for item in first if "elapsed_s" in item]
    memory = [item["mem_gib"] for item in first if "mem_gib" in item]
    if seconds:
        notes.facts["capture_s"] = round(sum(seconds), 4)
    if memory:
        notes.facts["graph_gib"] = round(sum(memory), 4)


FORMAT = Format("sglang-log", "SGLang log", detect, read_sglang_log, 21, MARKS)
