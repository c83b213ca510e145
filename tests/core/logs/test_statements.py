"""What engines state of their graphs: kinds of lines that were misread, each with further ones."""

from __future__ import annotations

import pytest

from core.commands.import_ import summary
from core.commands.import_ import text as import_text
from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.plan import Severity
from core.logs.record import EngineLog
from core.not_faster.gather import Part, part_of
from core.readers import Reading, read
from tests.core.logs.test_prefix import stated
from tests.core.logs.texts import OLD_VLLM, SGLANG

AT = "INFO 04-23 11:34:24 [model_runner.py:1434] "
CONFIG = (
    "INFO 05-01 10:00:00 [core.py:9] Initializing a V1 LLM engine (v0.23.0) with config: model='m',"
    " enforce_eager=False, compilation_config={'cudagraph_mode': "
    "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': "
    "[1, 2, 4, 8, 16, 256, 352, 512]}\n"
)
FINISHED = "INFO 05-01 10:00:09 [x.py:1] Graph capturing finished in 9 secs, took 0.50 GiB\n"


def reading(text: str) -> Reading:
    return read(text.encode(), name="engine.log")


def part(text: str) -> Part:
    return part_of(reading(text), "engine.log")


def checked(engine: str, text: str) -> CheckReport:
    return check(ENGINES[engine], text=text)


def ids(report: CheckReport) -> list[str]:
    return [finding.id for finding in report.findings]


def text_of(report: CheckReport, identity: str) -> str:
    return " ".join(f"{f.text} {f.fix}" for f in report.findings if f.id == identity)


HINTS = [
    f"{AT}To run the model in eager mode, set 'enforce_eager=True' or use '--enforce-eager' in the "
    "CLI.\n",
    f"{AT}If out-of-memory error occurs during cudagraph capture, consider decreasing "
    "`gpu_memory_utilization` or switching to eager mode (enforce_eager=True).\n",
    f"{AT}You can also reduce the `max_num_seqs` as needed to decrease memory usage, or use "
    '"enforce_eager=True".\n',
    f"{AT}Possible solutions: 1. disable cuda graph by --disable-cuda-graph\n",
]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("where", ["before", "after", "between"])
def test_a_hint_is_no_setting(hint: str, where: str) -> None:
    """A sentence that tells how to turn graphs off does not say that they are."""
    first = f"{AT}Capturing cudagraphs for decoding. This may lead to unexpected consequences.\n"
    last = f"{AT}Graph capturing finished in 22 secs, took 0.30 GiB\n"
    order = {"before": hint + first + last, "after": first + last + hint}
    text = order.get(where, first + hint + last)
    log = stated("vllm", text)
    assert log.off is None and "enforce_eager" not in log.settings and not log.out_of_memory
    assert log.capture_s == 22
    found = part(text)
    assert found.facts is not None and found.facts.off is None
    assert "graphs-off" not in ids(checked("vllm", text))
    assert stated("vllm", OLD_VLLM).off is None


OFF = [
    ("vllm", CONFIG.replace("enforce_eager=False", "enforce_eager=True"), "enforce_eager=True"),
    ("vllm", "INFO x.py non-default args: {'model': 'm', 'enforce_eager': True}\n",
     "enforce_eager=True"),
    ("vllm", "INFO args: Namespace(host=None, enforce_eager=True, seed=0)\n", "enforce_eager=True"),
    ("vllm", CONFIG + "WARNING Skipping CUDA graph capture. To turn on CUDA graph capture, ensure "
     "`cudagraph_mode` was not manually set to `NONE`\n", "Skipping CUDA graph capture"),
    ("vllm", "WARNING Skipping CUDA graph capture. Please add -O 3 to use CUDA graphs.\n",
     "Skipping CUDA graph capture"),
    ("vllm", CONFIG + "WARNING CUDAGraphMode.FULL is not supported with X backend (support: "
     "AttentionCGSupport.NEVER); setting cudagraph_mode=NONE because attention is not compiled "
     "piecewise\n", "cudagraph_mode NONE"),
    ("vllm", "WARNING No valid cudagraph capture sizes remain after capping to Mamba cache blocks "
     "(0). The smallest capture size was 1. Disabling cudagraph capture.\n",
     "No valid cudagraph capture sizes remain"),
    ("sglang", "Cuda graph is disabled because deepep_mode=`normal`\n",
     "Cuda graph is disabled because deepep_mode=`normal`"),
    ("sglang", "[2026-05-28 22:54:01] When msProbe is enabled, cuda graph is disabled because "
     "msProbe only supports dump in eager mode\n",
     "cuda graph is disabled because msProbe only supports dump in eager mode"),
    ("sglang", "server_args=ServerArgs(model='m', disable_cuda_graph=True)\n",
     "disable_cuda_graph=True"),
    ("tgi", "Cuda Graphs are disabled (CUDA_GRAPHS=None).\n", "Cuda Graphs are disabled"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "text", "words"), OFF)
def test_graphs_are_off_where_a_line_says_so(engine: str, text: str, words: str) -> None:
    """In its own words, with its line; the check captures nothing."""
    log = stated(engine, text)
    assert log.off is not None and log.off.value == words
    assert log.off.line == text.count("\n") and log.off.text
    assert log.sizes == ()
    report = checked(engine, text)
    assert report.sizes == () and "graphs-off" in ids(report)


def test_a_capture_that_ended_later_outranks_an_older_start() -> None:
    """Two starts in one log: the last one captured, so graphs are not off."""
    eager = CONFIG.replace("enforce_eager=False", "enforce_eager=True")
    assert stated("vllm", eager + CONFIG + FINISHED).off is None
    assert stated("vllm", CONFIG + FINISHED + eager).off is not None


def test_prefill_graphs_that_are_off_are_not_decode_graphs() -> None:
    """A piecewise or prefill switch says nothing of decode graphs."""
    for kind in ("Piecewise", "piecewise", "prefill"):
        text = SGLANG + f"{kind} CUDA graph is disabled because of the model.\n"
        assert stated("sglang", text).off is None


CHANGES = [
    ("WARNING [compilation.py:1390] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with "
     "spec-decode for attention backend X (support: Y); setting cudagraph_mode=PIECEWISE\n",
     "FULL_AND_PIECEWISE", "PIECEWISE"),
    ("WARNING CUDAGraphMode.FULL is not supported with X; setting "
     "cudagraph_mode=FULL_DECODE_ONLY\n",
     "FULL", "FULL_DECODE_ONLY"),
    ("WARNING CUDAGraph is not supported for ngram-based speculative decoding; setting "
     "cudagraph_mode=PIECEWISE\n", None, "PIECEWISE"),
    ("WARNING Pooling models do not support full cudagraphs. Overriding cudagraph_mode to "
     "PIECEWISE.\n", None, "PIECEWISE"),
    ("WARNING Dynamic speculative decoding changes the length. Overriding cudagraph_mode from FULL "
     "to PIECEWISE for reliability.\n", "FULL", "PIECEWISE"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "asked", "mode"), CHANGES)
def test_a_mode_that_the_engine_changed(line: str, asked: str | None, mode: str) -> None:
    """Asked for and resolved are told apart, with the line; the check follows the resolved one."""
    log = stated("vllm", CONFIG + line)
    assert log.mode_asked is not None and log.mode_asked.value == "FULL_AND_PIECEWISE"
    assert log.mode is not None and (log.mode.value, log.mode.line) == (mode, 2)
    (change,) = log.downgrades
    assert (change.value.asked, change.value.mode) == (asked, mode)
    assert log.off is None
    report = checked("vllm", CONFIG + line)
    assert report.settings["cudagraph_mode"] == mode
    assert "line 2" in text_of(report, "log-says")


CAPS = [
    ("Capping cudagraph capture sizes from max 512 to 352", 352, 7),
    ("Capping cudagraph capture sizes from max 512 to 256 to fit Mamba cache blocks (300 blocks "
     "available). This limits the maximum batch size that can use CUDA graphs.", 256, 6),
    ("Truncating max_cudagraph_capture_size to 16", 16, 5),
    ("Capping cudagraph capture sizes from max 512 to 1 to fit Mamba cache blocks (1 blocks "
     "available).", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("line", "top", "count"), CAPS)
def test_a_cap_cuts_the_list_and_bounds_no_requests(line: str, top: int, count: int) -> None:
    """Sizes above it go; it is no limit of running requests."""
    text = f"{CONFIG}WARNING 05-01 10:00:01 [x.py:1] {line}\n{FINISHED}"
    log = stated("vllm", text)
    assert log.sizes is not None and (max(log.sizes), len(log.sizes)) == (top, count)
    report = checked("vllm", text)
    assert report.sizes == log.sizes
    assert "max_num_seqs" not in report.settings
    assert log.settings.keys() == {"enforce_eager"}


@pytest.mark.parametrize("sizes", ["[1]", "[1, 2, 4]", "[8]"])
def test_a_short_list_is_no_limit_of_requests(sizes: str) -> None:
    """Where every size has a full graph their count bounds max_num_seqs from below alone."""
    count = sizes.count(",") + 1
    text = CONFIG.replace("[1, 2, 4, 8, 16, 256, 352, 512]", sizes)
    text += f"Capturing CUDA graphs (FULL): 100%|##| {count}/{count} [00:01<00:00, 1.0it/s]\n"
    report = checked("vllm", text + FINISHED)
    assert "max_num_seqs" not in report.settings
    assert any("only means" in note and "default is assumed" in note for note in report.notes)
    beyond = next(f for f in report.findings if f.id == "above-largest")
    assert beyond.severity is Severity.INFO and "does not say how many" in beyond.text
    given = check(ENGINES["vllm"], text=text + FINISHED, settings={"max_num_seqs": 64})
    beyond = next(f for f in given.findings if f.id == "above-largest")
    assert beyond.severity is Severity.WARNING and beyond.text.startswith("Decode steps")


ORDER = [
    ("Memory pool end. avail mem=5.10 GB", "Capture cuda graph begin. bs [1, 2, 4, 8]", False),
    ("KV Cache is allocated. #tokens: 9, K size: 1.00 GB", "Capture cuda graph begin. x", False),
    ("Capture target decode CUDA graph begin. backend=full, bs=[1, 2, 4, 8], avail mem=9.00 GB",
     "Memory pool end. avail mem=5.10 GB", True),
    ("Capture cuda graph begin. This can take up to several minutes. bs=[1, 2, 4, 8]",
     "KV Cache is allocated. #tokens: 9, K size: 1.00 GB", True),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "graphs_first"), ORDER)
def test_the_order_in_the_log_outranks_the_rule(
    first: str, second: str, graphs_first: bool
) -> None:
    """Whatever the newest release would do, and the list is the log's."""
    head = "[2026-04-01 10:00:00 TP0] "
    text = f"{head}{first}\n{head}{second}\n{head}Capture cuda graph bs [1, 2, 4, 8]\n"
    log = stated("sglang", text)
    assert log.graphs_first is not None
    assert (log.graphs_first.value, log.graphs_first.line) == (graphs_first, 1)
    report = checked("sglang", text)
    word = "before" if graphs_first else "after"
    memory = next(f for f in report.findings if f.id == "memory")
    assert f"graphs were captured {word} the KV cache" in memory.text
    assert memory.load == f"graphs are captured {word} the KV cache is sized"
    assert report.sizes == (1, 2, 4, 8)
    assert "not this release's default" in text_of(report, "log-list")
    assert "0.5.23 (assumed)" in text_of(report, "release-assumed")


def test_an_order_that_is_seen_both_ways_is_not_told() -> None:
    """A restart in between: what came first belongs to another start."""
    start, pool, graphs = (
        "server_args=ServerArgs(x)\n",
        "Memory pool end.\n",
        ("Capture cuda graph begin.\n"),
    )
    assert stated("sglang", graphs + start + pool).graphs_first is None
    assert stated("sglang", graphs + pool + graphs).graphs_first is None


def test_no_sizes_are_advised_where_no_memory_is_free() -> None:
    """0.00 GB free after capturing: adding sizes is no way out; with memory it is."""
    text = SGLANG.replace("avail \\\nmem=11.44 GB", "").replace("11.44 GB", "0.00 GB")
    assert "no memory for more graphs (0.00 GiB" in text_of(
        checked("sglang", text), "above-largest"
    )
    assert "--cuda-graph" in text_of(checked("sglang", SGLANG), "above-largest")


BARS = [
    "Capturing CUDA graphs (FULL):   0%|          | 0/35 [00:00<?, ?it/s]Capturing CUDA graphs "
    "(FULL): 100%|#####| 35/35 [00:02<00:00, 16.1it/s]\n",
    "Capturing CUDA graphs (FULL):   0%|  | 0/35 [00:00<?, ?it/s]#015Capturing CUDA graphs (FULL): "
    "100%|█████| 35/35 [00:02<00:00, 16.1it/s]\n",
    "Capturing CUDA graphs (FULL): 100%|█████| 35/35 [00:02<00:00, 16.1it/s]INFO 05-01 10:00:09 "
    "[x.py:1] Asynchronous scheduling is enabled\n",
    "Capturing CUDA graphs (FULL):  97%|█ | 34/35 [00:02<00:00, 16.1it/s]^MCapturing CUDA graphs "
    "(FULL): 100%|█| 35/35 [00:02<00:00,  2.10s/it]\n",
]


@pytest.mark.parametrize("bar", BARS)
def test_bars_that_were_run_together(bar: str) -> None:
    """The last update counts, and what was glued behind it is a message of its own."""
    log = stated("vllm", CONFIG + bar)
    (found,) = log.bars.values()
    assert (found.done, found.total) == (35, 35)
    assert log.plain_graphs == {"full": 35}
    assert not [w for w in log.warnings if "of 35" in w]
    if "Asynchronous" in bar:
        assert log.plain_facts["async_scheduling"] is True


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("", "whether it went on is not in this log"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried\n", "ran out of memory"),
        (FINISHED, None),
        ("INFO some other line\n", "whether it went on is not in this log"),
    ],
)
def test_a_bar_that_does_not_end(after: str, says: str | None) -> None:
    """That a capture stopped is said only where a line says so."""
    bar = "Capturing CUDA graphs (FULL):  34%|███  | 12/35 [00:01<00:02, 9.0it/s]\n"
    told = [w for w in stated("vllm", CONFIG + bar + after).warnings if "12 of 35" in w]
    assert (says is None) == (not told)
    assert says is None or says in told[0]
    found = part(CONFIG + bar + after)
    assert found.facts is not None
    assert found.facts.stopped == ((12, 35) if "OutOf" in after else None)


FAILED = [
    ("tgi", "Cuda Graphs are enabled for sizes [2, 1]\nERROR text_generation_launcher: Decode cuda "
     "graph warmup failed\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n", 2),
    ("tgi", '{"timestamp":"x","level":"ERROR","fields":{"message":"Decode cuda graph warmup '
     'failed\\nTraceback"}}\n{"fields":{"message":"Cuda Graphs are enabled for sizes [1]"}}\n', 1),
    ("sglang", SGLANG.split("Capturing batches")[0]
     + "Exception: Capture cuda graph failed: CUDA out of memory.\n", 7),
    ("sglang", "Capture cuda graph begin.\nException: Capture cuda graph failed\n", 2),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "text", "line"), FAILED)
def test_a_capture_that_failed(engine: str, text: str, line: int) -> None:
    """The line that says so is kept, and the answer names it."""
    log = stated(engine, text)
    assert log.failed is not None and log.failed.line == line
    found = part(text)
    assert found.facts is not None and f"line {line}" in (found.facts.failed or "")
    assert f"line {line}" in text_of(checked(engine, text), "log-says")


def lines_of(text: str) -> str:
    return import_text(summary(reading(text)))


def test_settings_are_typed() -> None:
    """A switch is true or false, a number a number, the same for reader and check."""
    log: EngineLog = stated("vllm", CONFIG)
    assert log.plain_settings["enforce_eager"] is False
    assert reading(CONFIG).facts["enforce_eager"] is False
    assert log.release is not None and log.release.line == 1
