"""What SGLang states at its start, releases 0.4.6 to 0.5.23; "GB" in its lines is 2**30 bytes.

Source: message formats of these releases (docs/formats.md).
"""

from __future__ import annotations

import re

from core.logs.collect import Collector, LogForm
from core.logs.lines import LogLine, interest
from core.logs.record import EngineLog
from core.logs.rules import Into, rule, setting
from core.logs.sglang_captures import Captures, sums

MARKS = re.compile(
    r"Decode batch[ \[\].,\d]{0,20}#running-req: \d+|Prefill batch[ \[\].,\d]{0,20}#new-seq: \d+"
    r"|Capture [\w ]{0,40}(?:cuda|CUDA) graph (?:begin|end|bs|num tokens)"
    r"|Capturing batches \((?:bs|num_tokens)=|server_args=ServerArgs\(|Finish: obj="
    r"|Memory pool end\. avail mem=|KV Cache is allocated\. "
    r"|Cuda graph is disabled because|CUDA graph is disabled because"
    r"|cuda graph is disabled because"
)
WANTED = interest(
    r"batch", r"Capt", r"Finish", r"=", r"allocated", r"Load weight", r"[Mm]emory", r"graph",
)  # fmt: skip
_BOOL = r"True|False"


def _argument(name: str, value: str, ours: str = "") -> tuple[str, str]:
    """A setting of the server's arguments, or of the line that sums up its memory."""
    return name, rf"(?<!['\"`\w\-]){name}=(?P<{ours or name}>{value})\b"


def _word(name: str) -> tuple[str, str]:
    """An argument that is printed as a quoted word."""
    return name, rf"(?<!['\"`\w\-]){name}='(?P<{name}>\w{{1,40}})'"


_ARGUMENTS = (
    _argument("max_running_requests", r"\d+"),
    _argument("chunked_prefill_size", r"-?\d+"),
    _argument("tp_size", r"\d+"),
    _argument("dp_size", r"\d+"),
    _argument("pp_size", r"\d+"),
    _argument("enable_dp_attention", _BOOL),
    _argument("enable_two_batch_overlap", _BOOL),
    _argument("disable_cuda_graph_padding", _BOOL),
    _argument("disable_cuda_graph", _BOOL),
    _argument("speculative_num_draft_tokens", r"\d+", "num_draft_tokens"),
    _word("speculative_algorithm"),
    _word("disaggregation_mode"),
)
SETTINGS = tuple(
    setting(line, pattern, after=line.startswith("server"))
    for _, pattern in _ARGUMENTS
    for line in ("server_args=", "max_total_num_tokens=")
)

FACTS = (
    rule("max_total_num_tokens=", r"max_total_num_tokens=(?P<kv_tokens>\d+)"),
    rule("context_len=", r"context_len=(?P<max_model_len>\d+)"),
    rule("available_gpu_mem=", r"available_gpu_mem=(?P<available_gib>[\d.]{1,12}) GB"),
    rule("KV Cache is allocated", r"#tokens: (?P<kv_tokens>\d+)"),
    rule("KV Cache is allocated", r"KV size: (?P<kv_gib>[\d.]{1,12}) GB"),
    rule("KV cache allocated", r"#tokens: (?P<kv_tokens>\d+), KV size: (?P<kv_gib>[\d.]{1,12}) GB"),
    rule("Load weight end", r"mem usage=(?P<weights_gib>[\d.]{1,12}) GB"),
    rule("decode_log_interval=", r"decode_log_interval=(?P<decode_log_interval>\d+)"),
)

_LIST = r"\[(?P<sizes>[\d, ]*)\]"
_DECODE = r"Capture target (?:decode|verify) CUDA graph"
_PLAIN = r"Capture cuda graph"
STATEMENTS = (
    rule("Capture cuda graph", rf"{_PLAIN} (?:bs|begin\.[^\[]{{0,200}}?\bbs)[ =]{_LIST}",
         Into.CAPTURED),
    rule("Capture target", rf"{_DECODE} (?:begin|end)\..{{0,400}}?\bbs={_LIST}", Into.CAPTURED),
    rule("num tokens", rf"{_PLAIN} num tokens {_LIST}", Into.PREFILL),
    rule("Capture target prefill",
         rf"Capture target prefill CUDA graph begin\..{{0,400}}num_tokens={_LIST}", Into.PREFILL),
    rule("graph is disabled because",
         r"(?<!iecewise )(?<!refill )(?<!draft )"
         r"(?P<words>(?:[Cc]uda|CUDA) graph is disabled because .{1,120})", Into.OFF),
    rule("Capture cuda graph failed", r"(?P<why>Capture cuda graph failed.*)", Into.FAILED),
    rule("server_args=", r"server_args=\w", Into.START),
    rule("Memory pool end", "", Into.KV_POOL),
    rule("KV Cache is allocated", "", Into.KV_POOL),
    rule("Capture cuda graph begin", "", Into.CAPTURE),
    rule("Capture target", rf"{_DECODE} begin", Into.CAPTURE),
    rule("graph end", rf"(?:{_PLAIN}|{_DECODE}) end", Into.FINISHED),
)  # fmt: skip


class _Sglang(Collector):
    """Captures are told rank by rank and kind by kind."""

    def __init__(self, form: LogForm) -> None:
        super().__init__(form)
        self.captures = Captures()
        self.last = LogLine(0, "")

    def feed(self, line: LogLine) -> None:
        super().feed(line)
        if self.captures.feed(line):
            self.last = line

    def finish(self) -> EngineLog:
        found = self.captures.finish()
        facts = {"captures": found, **sums(found)} if found else {}
        for name, value in facts.items():
            self.found["facts"][name] = self._stated(value, self.last)
        return super().finish()


FORM = LogForm(
    id="sglang",
    name="sglang-log",
    label="SGLang log",
    marks=MARKS,
    wanted=WANTED,
    rules=(*SETTINGS, *FACTS, *STATEMENTS),
    rank=21,
    off_settings={"disable_cuda_graph": True},
    collector=_Sglang,
)
