"""The doctor: the first cause of a failed capture, from logs and tracebacks."""

from __future__ import annotations

import io
import json

import pytest

from core.__main__ import main
from core.diagnose import MOST_CAUSES, diagnose
from core.errors import FileContentError
from core.failures.capture_errors import RULES, Rank
from tests.conftest import DATA
from tests.core.cases import case

SYNC_IN_FORWARD = """Traceback (most recent call last):
  File "/srv/app/model.py", line 88, in forward
    n = mask.sum().item()
  File "/usr/lib/python3.12/site-packages/torch/_tensor.py", line 10, in item
    return self._item()
RuntimeError: CUDA error: operation not permitted when stream is capturing

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app/runner.py", line 12, in capture
    with torch.cuda.graph(graph):
RuntimeError: CUDA error: operation failed due to a previous error during capture
"""


@pytest.mark.parametrize("number", range(1, 13))
def test_known_cases(number):
    """Each text of the collection has its class first; where a code is known, it is told."""
    given, expect = case(f"D-DIAG-{number:02d}")
    found = diagnose(f"{given['text']}\n{given.get('context', '')}")
    assert found.first is not None
    assert found.first.klass == expect["klass"]
    assert found.first.cause and found.first.remedy
    if "code" in expect:
        assert found.first.code == expect["code"]


def test_the_first_error_not_the_last():
    """901 is read last but follows from .item() in the user's line 88."""
    first, last = diagnose(SYNC_IN_FORWARD).causes
    assert (first.klass, first.code, first.line) == ("host_sync", 900, 6)
    assert first.site is not None
    assert (first.site.file, first.site.line) == ("model.py", 88)
    assert first.site.code == "n = mask.sum().item()"
    assert (last.code, last.rank) == (901, Rank.CONSEQUENCE)
    assert "line 6" in last.cause


@pytest.mark.parametrize(
    ("code", "klass"),
    [
        ("if flag.item():", "host_sync"),
        ("rows = x.cpu()", "host_sync"),
        ("torch.cuda.synchronize()", "host_sync"),
        ("print(x)", "host_sync"),
        ("idx = mask.nonzero()", "data_dependent_shape"),
        ("y = torch.masked_select(x, mask)", "data_dependent_shape"),
        ("y = x.repeat_interleave(counts)", "data_dependent_shape"),
        ("done = event.query()", "event_query"),
        ("torch.cuda.empty_cache()", "allocation"),
        ("w = torch.tensor([1.0], device='cuda')", "h2d_copy"),
        ("y = my_extension(x)", "forbidden_call"),
        ("y = x.repeat_interleave(counts, output_size=8)", "forbidden_call"),
        ("idx = mask.nonzero_static(size=4)", "forbidden_call"),
    ],
)
def test_error_900_is_explained_by_the_line_that_made_it(code, klass):
    """The same message is another class by what the code does; what is unknown stays general."""
    text = (
        f'  File "step.py", line 3, in step\n    {code}\n'
        "RuntimeError: CUDA error: operation not permitted when stream is capturing"
    )
    first = diagnose(text).first
    assert first is not None and first.klass == klass
    assert first.site is not None and str(first.site) == f"step.py, line 3: {code}"


def test_a_copy_to_the_host_is_told_from_one_to_the_card():
    """PyTorch refuses both with one message; the line of code tells which it was."""
    words = "RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture"
    for code, klass in (("y = x.cpu()", "host_sync"), ("y = torch.ones(4).to('cuda')", "h2d_copy")):
        first = diagnose(f'  File "step.py", line 3, in step\n    {code}\n{words}').first
        assert first is not None and first.klass == klass


def test_frames_of_an_earlier_error_explain_nothing_later():
    """A traceback that ended before does not lend its lines to the next error."""
    text = (
        '  File "a.py", line 1, in f\n    x.item()\nValueError: harmless\n'
        "RuntimeError: CUDA error: operation not permitted when stream is capturing"
    )
    first = diagnose(text).first
    assert first is not None and (first.klass, first.site) == ("forbidden_call", None)


def test_prefixed_log_lines_are_read():
    """Engines put process, level, time and file before each line of a traceback."""
    prefix = "(EngineCore_DP0 pid=77) ERROR 06-01 10:00:00 [core.py:700] "
    text = "\n".join(prefix + line for line in SYNC_IN_FORWARD.splitlines())
    first = diagnose(text).first
    assert first is not None and first.klass == "host_sync"
    assert first.site is not None and first.site.code == "n = mask.sum().item()"


def test_an_unknown_exception_before_901_is_the_first_cause():
    """Python says that 901 came while another exception was handled: that one began it."""
    text = (
        '  File "moe.py", line 5, in route\n    raise ValueError("bad expert")\n'
        "ValueError: bad expert\n"
        "During handling of the above exception, another exception occurred:\n"
        "RuntimeError: CUDA error: operation failed due to a previous error during capture"
    )
    first, second = diagnose(text).causes
    assert (first.klass, first.rank) == ("other_error", Rank.ROOT)
    assert first.site is not None and first.site.file == "moe.py"
    assert second.klass == "earlier_error"


def test_a_harmless_exception_does_not_hide_the_cause():
    """An ImportError that was survived stands after the real cause, as a sign."""
    text = (
        "ImportError: no module named flash\n"
        "Capture cuda graph failed: CUDA error: capturing stream has unjoined work"
    )
    causes = diagnose(text).causes
    assert [(c.klass, c.rank) for c in causes] == [
        ("unjoined", Rank.ROOT),
        ("other_error", Rank.SIGN),
    ]


def test_901_alone_points_elsewhere():
    """Without its first error, 901 is no cause: the text tells to look for the first."""
    first = diagnose("CUDA error: operation failed due to a previous error during capture").first
    assert first is not None
    assert (first.klass, first.rank) == ("earlier_error", Rank.CONSEQUENCE)


@pytest.mark.parametrize(
    ("before", "klass"),
    [
        ("Capturing CUDA graphs (decode, FULL):  10%|█", "oom_in_capture"),
        ("Graph capturing finished in 5 secs, took 0.62 GiB", "oom_or_env"),
        ("Capture cuda graph end. Time elapsed: 5.10 s. mem usage=0.62 GB.", "oom_or_env"),
        ("cudagraph_capture_sizes: [1, 2, 4]", "oom_or_env"),
    ],
)
def test_out_of_memory_during_capture_or_not(before, klass):
    """Running out of memory is told apart by whether a capture was going on at that line."""
    first = diagnose(f"{before}\ntorch.OutOfMemoryError: CUDA out of memory.").first
    assert first is not None and first.klass == klass


def test_eight_ranks_with_one_error_are_one_cause():
    """The same finding is counted, not repeated."""
    line = "RuntimeError: CUDA error: capturing stream has unjoined work"
    (cause,) = diagnose("\n".join(f"(TP{rank}) {line}" for rank in range(8))).causes
    assert (cause.times, cause.line) == (8, 1)


def test_healthy_logs_have_no_cause():
    """Start-up logs of a real engine that captured its graphs show no error."""
    paths = sorted((DATA / "engine_logs").glob("*.log"))
    assert len(paths) >= 3
    for path in paths:
        assert diagnose(path.read_text("utf-8")).causes == ()


def test_what_holds_no_text_is_refused():
    """Nothing, or only blanks, is bad input."""
    with pytest.raises(FileContentError):
        diagnose(" \n\n")


def test_every_rule_is_found_by_a_message():
    """Each pattern matches the message that it stands for; none is dead."""
    messages = [
        "Process group watchdog thread: operation not permitted when stream is capturing",
        "operation failed due to a previous error during capture",
        "would result in a merge of separate capture sequences",
        "capture was not ended in the same stream as it began",
        "capturing stream has unjoined work",
        "dependency created on uncaptured work in another stream",
        "would make the legacy stream depend on a capturing blocking stream",
        "operation not permitted on an event last recorded in a capturing stream",
        "cudaErrorStreamCaptureWrongThread",
        "CUDA graphs must be captured on a non-default stream.",
        "This CUDAGraph instance already owns a captured graph.",
        "capture_end() called before capture_begin().",
        "The CUDA Graph is empty.",
        "Offset increment outside graph capture encountered unexpectedly.",
        "philox_cuda_state for an unexpected CUDA generator used during capture",
        "Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture",
        "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless",
        "captures_underway.empty() INTERNAL ASSERT FAILED",
        "use_count > 0 INTERNAL ASSERT FAILED",
        "head->prev == nullptr && head->pool != nullptr INTERNAL ASSERT FAILED",
        "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run",
        "CUDAGraph supports dynamic shapes; observed 9 distinct sizes",
        "skipping cudagraphs due to mutated inputs",
        "Unknown CUDA graph CaptureStatus5",
        "resource alloc fail",
        "Registering 0 cuda graph addresses",
        "custom_all_reduce.cuh:455 invalid argument",
        "No available memory for the cache blocks.",
        "Truncating max_cudagraph_capture_size to 504",
    ]
    assert all(diagnose(text).causes for text in messages), "found in a whole log too"
    hit = {rule.pattern.pattern for rule in RULES for text in messages if rule.pattern.search(text)}
    assert {rule.pattern.pattern for rule in RULES} == hit


def test_findings_are_bounded():
    """A log of endless different errors gives a bounded answer."""
    text = "\n".join(
        f'  File "f{i}.py", line {i + 1}, in f\n    x.item()\n'
        "RuntimeError: operation not permitted when stream is capturing"
        for i in range(3 * MOST_CAUSES)
    )
    assert len(diagnose(text).causes) == MOST_CAUSES


def test_the_command_reads_a_file_and_stdin(tmp_path, capsys, monkeypatch):
    """Both give the same JSON; the keys are those that scripts rely on."""
    path = tmp_path / "error.log"
    path.write_text(SYNC_IN_FORWARD, "utf-8")
    assert main(["diagnose", str(path), "--json"]) == 0
    from_file = json.loads(capsys.readouterr().out)
    data = io.TextIOWrapper(io.BytesIO(SYNC_IN_FORWARD.encode()), "utf-8")
    monkeypatch.setattr("sys.stdin", data)
    assert main(["diagnose", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == from_file
    first = from_file["causes"][0]
    assert {"class", "evidence", "line", "cause", "remedy"} <= set(first)
    assert (first["class"], first["site"]["line"]) == ("host_sync", 88)


def test_a_step_line_is_not_looked_at_closely(monkeypatch):
    """Lines that an engine writes at every step are passed over by their words alone."""
    read: list[str] = []
    monkeypatch.setattr("core.failures.log_reader._rules", lambda line: read.append(line) or [])
    diagnose(
        "[2026-05-28 22:54:01 TP0] Decode batch. #running-req: 3, #token: 9, cuda graph: True\n"
        "INFO 06-01 10:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s\n"
    )
    assert read == []


def test_the_command_for_people(tmp_path, capsys):
    """A log without an error says so; one with an error says where and what to do."""
    path = tmp_path / "fine.log"
    path.write_text("all is well\n", "utf-8")
    assert main(["diagnose", str(path)]) == 0
    assert "No known error" in capsys.readouterr().out
    path.write_text(SYNC_IN_FORWARD, "utf-8")
    assert main(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1. host_sync (900): root cause, line 6")
    assert "model.py, line 88" in out and "remedy:" in out


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02binary"])
def test_bad_files_are_one_sentence(tmp_path, capsys, content):
    """An empty or a binary file exits with 2 and one sentence, never a traceback."""
    path = tmp_path / "bad.log"
    path.write_bytes(content)
    assert main(["diagnose", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("python -m core diagnose:") and error.count("\n") == 1
