"""Failures of kernels and collectives, and errors that only a wrapper or a number tells."""

from __future__ import annotations

import time

import pytest

from core.diagnose import diagnose
from core.failures.capture_errors import Rank
from core.failures.native_errors import NATIVE_RULES
from core.not_faster.answer import Verdict
from core.not_faster.engine_facts import EngineFacts
from core.not_faster.known import Known
from core.not_faster.replayed import judge_replay

CAPTURING = "Capturing CUDA graphs (decode, FULL):  10%|#| 1/10"


def roots(text: str) -> list[str]:
    return [cause.klass for cause in diagnose(text).causes if cause.rank is Rank.ROOT]


@pytest.mark.parametrize(
    ("line", "klass", "code"),
    [
        (
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "illegal_memory_access",
            700,
        ),
        ("Triton Error [CUDA]: an illegal memory access was encountered", None, 700),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "illegal_memory_access", 700),
        (
            "RuntimeError: CUDA error: an illegal instruction was encountered",
            "illegal_instruction",
            715,
        ),
        ("CUDA driver error: CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal_instruction", 715),
        ("RuntimeError: CUDA error: misaligned address", "misaligned_address", 716),
        ("RuntimeError: CUDA error: unspecified launch failure", "launch_failure", 719),
        ("CUDA_ERROR_LAUNCH_FAILED: kernel ended", "launch_failure", 719),
        ("RuntimeError: CUDA error: device-side assert triggered", "device_assert", 710),
        (
            "NCCL WARN NCCL cannot be captured in a graph if either it wasn't built with CUDA "
            "runtime >= 11.3 or if the installed CUDA driver < R465.",
            "nccl_capture",
            None,
        ),
        ("RuntimeError: graph capture needs NCCL 2.9.6 or later", "nccl_capture", None),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:9, ", "nccl_error", None),
        ("ncclUnhandledCudaError: Call to CUDA function failed.", "nccl_error", None),
        (
            "RuntimeError: Error in function 'aligned_alloc' at a.h:49: Buffer overflow when "
            "allocating memory for batch_decode_tmp_v with size 9 and alignment 16",
            "attention_workspace",
            None,
        ),
        ("RuntimeError: workspace buffer is too small: 9 < 11", "attention_workspace", None),
        ("!!!!!!! Segfault encountered !!!!!!!", "segmentation_fault", None),
        ("Fatal Python error: Segmentation fault", "segmentation_fault", None),
        ("worker died with signal 11", "segmentation_fault", None),
        ("TimeoutError: RPC call to sample_tokens timed out.", "collective_timeout", None),
        ("TimeoutError: RPC call to execute_model timed out.", "collective_timeout", None),
        (
            "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
            "OpType=GATHER, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.",
            "collective_timeout",
            None,
        ),
        (
            "ValueError: Data too large for buffer 'cu_seqlen': 114 > 5",
            "size_above_limit",
            None,
        ),
    ],
)
def test_each_kind_has_its_class(line, klass, code):
    """The words of CUDA, NCCL, FlashInfer, Python and the engines each name one kind."""
    first = diagnose(f"{CAPTURING}\n{line}").first
    assert first is not None and first.rank is Rank.ROOT
    assert (first.klass, first.code) == (klass or "illegal_memory_access", code)
    assert first.cause and first.remedy


@pytest.mark.parametrize(
    ("line", "klass"),
    [
        ("RuntimeError: cudaGraphLaunch failed, code: 700", "illegal_memory_access"),
        ("CUDA error 900 at runner.cu:17", "forbidden_call"),
        ("RuntimeError: capture failed (code=904)", "unjoined"),
        ("Failed: Cuda error code 710", "device_assert"),
    ],
)
def test_a_number_alone_names_the_error(line, klass):
    """The runtime's number is as good as its words."""
    assert roots(line) == [klass]


@pytest.mark.parametrize("line", ["took 7000 ms, code: 7001", "exit code: 1", "status code: 503"])
def test_other_numbers_name_nothing(line):
    """A longer number, an exit status and an HTTP status are no CUDA errors."""
    assert diagnose(line).causes == ()


def test_901_by_its_number_follows_from_something_else():
    """`code: 901` is no root cause; the answer tells what to look for and what to switch off."""
    first = diagnose("Exception: Capture cuda graph failed: code: 901").first
    assert first is not None
    assert (first.klass, first.code, first.rank) == ("earlier_error", 901, Rank.CONSEQUENCE)
    assert first.switches[-1].flag == "--disable-cuda-graph"


@pytest.mark.parametrize("reason", ["", " ", " shape mismatch in rope", " 17"])
def test_a_capture_that_failed_for_an_unknown_reason(reason):
    """The line is kept, and the next things to try stand in order."""
    line = f"Exception: Capture cuda graph failed:{reason}"
    first = diagnose(f"[2026-05-01 10:00:00 TP0] Capture cuda graph begin.\n{line}").first
    assert first is not None and (first.klass, first.line) == ("capture_failed", 2)
    assert first.evidence == line.strip() and reason.strip() in first.cause
    assert [str(s.layer) for s in first.switches][-1] == "all CUDA graphs"


def test_the_exception_before_an_empty_failure_is_the_cause():
    """SGLang raises again without words; what it handled began it, in the engine's frame."""
    text = (
        "[2026-05-01 10:00:00 TP0] Capture cuda graph begin.\n"
        '  File "/opt/sglang/srt/layers/rotary.py", line 7, in forward\n    assert n == 4\n'
        "AssertionError\n\nDuring handling of the above exception, another exception occurred:\n\n"
        '  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 239, in __init__\n'
        "    raise Exception(\nException: Capture cuda graph failed: \n"
    )
    (only,) = diagnose(text).causes
    assert (only.klass, only.line, only.evidence) == ("other_error", 4, "AssertionError")
    assert only.site is not None and only.site.file == "rotary.py"
    assert only.switches


def test_an_older_harmless_exception_is_not_the_reason_of_the_failure():
    """An ImportError at the start is not why a capture failed with words of its own."""
    text = "ImportError: no flash\nException: Capture cuda graph failed: bad rope"
    first = diagnose(text).first
    assert first is not None and first.klass == "capture_failed" and first.line == 2


@pytest.mark.parametrize(
    "words",
    [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "RuntimeError: Not enough memory to handle 4096 prefill tokens.",
    ],
)
def test_memory_that_ran_out_in_the_words_of_tgi(words):
    """Its warm-up of graphs is a capture, and where is the server's frame, not its launcher."""
    text = (
        "2026-04-02T17:31:23Z ERROR text_generation_launcher: Decode cuda graph warmup failed\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/conda/bin/text-generation-server", line 8, in <module>\n'
        "    sys.exit(app())\n"
        '  File "/opt/conda/lib/python3.10/site-packages/text_generation_server/models/'
        'flash_causal_lm.py", line 900, in warmup\n    self.cuda_graph_warmup(bs)\n' + words
    )
    first = diagnose(text).first
    assert first is not None and first.klass == "oom_in_capture"
    assert first.site is not None and first.site.file == "flash_causal_lm.py"
    assert diagnose(text).served.engine == "tgi"


def test_what_fails_after_a_broken_device_follows_from_it():
    """After 700 every later call fails: time-outs and NCCL's errors are no further roots."""
    text = (
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        "TimeoutError: RPC call to sample_tokens timed out.\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\n"
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
    )
    causes = diagnose(text).causes
    assert roots(text) == ["illegal_memory_access"]
    assert {c.klass for c in causes[1:]} == {"collective_timeout", "nccl_error", "engine_ended"}
    assert all("line 1" in c.cause for c in causes[1:])


@pytest.mark.parametrize(
    "help_line",
    [
        "Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/cuda for more.",
        "Search for `cudaErrorStreamCaptureUnsupported' in https://docs.nvidia.com/cuda.",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "CUDA kernel errors might be asynchronously reported at some other API call.",
    ],
)
def test_help_lines_are_no_errors(help_line):
    """Advice below an error names an error again, and is no finding."""
    assert diagnose(help_line).causes == ()
    text = f"RuntimeError: CUDA error: an illegal memory access was encountered\n{help_line}"
    (only,) = diagnose(text).causes
    assert only.times == 1


@pytest.mark.parametrize(
    "words",
    [
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: capturing stream has unjoined work",
        "CUDA error: operation not permitted when stream is capturing",
    ],
)
def test_a_wrapper_raises_no_second_root(words):
    """What an engine raises again, from another frame, is the same root once more."""
    text = (
        '  File "/opt/sglang/srt/layers/norm.py", line 7, in forward\n    y = x.item()\n'
        f"RuntimeError: {words}\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        '  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 239, in __init__\n'
        f"    raise Exception(\nException: Capture cuda graph failed: {words}\n"
    )
    (only,) = diagnose(text).causes
    assert (only.line, only.times) == (3, 2)
    assert only.site is not None and only.site.file == "norm.py"


def test_every_native_rule_is_found_in_this_file():
    """No pattern is dead: each class of a rule is named by a test above or here."""
    lines = [
        "No available shared memory broadcast block found in 60 seconds.",
        "EngineDeadError: EngineCore encountered an issue.",
        "Decode cuda graph warmup failed",
        "an illegal memory access was encountered",
        "device-side assert triggered",
        "an illegal instruction was encountered",
        "misaligned address",
        "unspecified launch failure",
        "NCCL cannot be captured in a graph",
        "ncclSystemError: socket",
        "RPC call to x timed out",
        "Buffer overflow when allocating memory for y",
        "Data too large for buffer 'x': 9 > 5",
        "Segmentation fault (core dumped)",
    ]
    found = {cause.klass for line in lines for cause in diagnose(line).causes}
    assert {rule.klass for rule in NATIVE_RULES} <= found


@pytest.mark.parametrize("word", ["NCCL ", "capturing ", "encoder cudagraph ", "workspace "])
def test_one_endless_line_is_read_in_bounded_time(word):
    """A line of megabytes that repeats a word we look for is no reason to wait."""
    start_s = time.process_time()
    diagnose(word * 500_000)
    assert time.process_time() - start_s < 20


@pytest.mark.parametrize(
    ("before", "in_capture"),
    [(CAPTURING, True), ("Graph capturing finished in 5 secs", False), ("serving", False)],
)
def test_a_kernel_that_fails_while_serving_is_no_failed_capture(before, in_capture):
    """Graphs did replay then: only a failure within a capture says that they do not."""
    text = f"{before}\nTimeoutError: RPC call to sample_tokens timed out."
    causes = diagnose(text).causes
    assert [cause.in_capture for cause in causes] == [in_capture]
    known = Known(engine=EngineFacts("vLLM", causes=causes))
    assert (judge_replay(known, None).decisive is Verdict.CAUSE) == in_capture
