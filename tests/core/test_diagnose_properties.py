"""Whatever is cut off a log or stands before its lines, no false cause is stated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.diagnose import diagnose
from core.errors import FileContentError
from core.failures.capture_errors import Rank
from core.failures.cause import Cause

SITE = "/usr/lib/python3.12/site-packages"
LOGS = {
    "vllm_all_reduce": f"""Initializing a V1 LLM engine (v0.11.0) with config: model='m'
Capturing CUDA graphs (decode, FULL):  10%|#| 1/10
Traceback (most recent call last):
  File "/usr/local/bin/vllm", line 10, in <module>
    sys.exit(main())
  File "{SITE}/vllm/v1/worker/gpu_model_runner.py", line 310, in capture_model
    self._capture_cudagraphs(
  File "{SITE}/vllm/distributed/device_communicators/custom_all_reduce.py", line 22, in all_reduce
    ops.all_reduce(self._ptr, inp)
torch.AcceleratorError: CUDA error: an illegal memory access was encountered
Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/ for more information.
RuntimeError: Engine core initialization failed. See root cause above.
""",
    "sglang_compile": f"""Capture cuda graph begin. This can take up to several minutes.
Traceback (most recent call last):
  File "/opt/sglang/srt/layers/sampler.py", line 20, in pick
    seed = draw()
  File "{SITE}/torch/_dynamo/eval_frame.py", line 655, in _fn
    return fn(*args, **kwargs)
torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: Cannot call \
CUDAGeneratorImpl::current_seed during CUDA graph capture.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 239, in __init__
    raise Exception(
Exception: Capture cuda graph failed: RuntimeError: Cannot call CUDAGeneratorImpl::current_seed \
during CUDA graph capture.
Possible solutions:
1. disable cuda graph by --disable-cuda-graph
""",
    "sync": """Traceback (most recent call last):
  File "/srv/app/model.py", line 88, in forward
    n = count_all[keep]
RuntimeError: CUDA error: operation not permitted when stream is capturing \
(memcpy_and_sync, nonzero)

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app/runner.py", line 12, in capture
    with torch.cuda.graph(graph):
RuntimeError: CUDA error: operation failed due to a previous error during capture
""",
    "tgi_memory": f"""ERROR text_generation_launcher: Decode cuda graph warmup failed
Traceback (most recent call last):
  File "/opt/conda/bin/text-generation-server", line 8, in <module>
    sys.exit(app())
  File "{SITE}/text_generation_server/models/flash_causal_lm.py", line 900, in warmup
    self.cuda_graph_warmup(bs)
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.
""",
    "crash": """Capture cuda graph begin. This can take up to several minutes.
Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/opt/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py", line 20 in invoke
  File "/usr/lib/python3.10/threading.py", line 900 in run
""",
    "hang": """Process started
TimeoutError: RPC call to sample_tokens timed out.
EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.
""",
    "unknown": """Capture cuda graph begin. This can take up to several minutes.
Traceback (most recent call last):
  File "/opt/sglang/srt/layers/rotary.py", line 7, in forward
    assert n == 4
AssertionError

During handling of the above exception, another exception occurred:

Exception: Capture cuda graph failed: code: 901
""",
}
UNKNOWN = ("other_error", "capture_failed")
LESS_CERTAIN = {
    "oom_in_capture": {"oom_or_env"},
    "data_dependent_shape": {"forbidden_call", "host_sync"},
}
"""What may be said of a class while its line, or what stands around it, is not there yet."""

LETTERS = "abcdefghijklmnopqrstuvwxyz-0123456789"
PREFIXES = st.one_of(
    st.builds(lambda name, n: f"{name}-{n}  | ", st.text(LETTERS, min_size=1), st.integers(1, 99)),
    st.builds(lambda name: f"[pod/{name}/server] ", st.text(LETTERS, min_size=1)),
    st.builds(
        lambda host, pid: f"May 28 22:54:01 {host} svc[{pid}]: ",
        st.text(LETTERS, min_size=1),
        st.integers(1, 99999),
    ),
    st.sampled_from(
        [
            "> ",
            "(EngineCore_DP0 pid=77) ERROR 06-01 10:00:00 [core.py:700] ",
            "[2026-05-28 22:54:01 TP0] ",
            "2026-04-02T17:31:23.524470Z ERROR ",
            "22:54:01 ",
            "\x1b[1;36m(EngineCore_0 pid=7)\x1b[0;0m ",
        ]
    ),
)


def causes_of(text: str) -> tuple[Cause, ...]:
    try:
        return diagnose(text).causes
    except FileContentError:
        return ()


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_cut_at_any_byte_states_no_false_cause(name):
    """A root named from the beginning of a log is in the whole log too, in the same line."""
    data = LOGS[name].encode()
    whole = {(c.line, c.klass) for c in causes_of(LOGS[name])}
    classes = {klass for _, klass in whole}
    allowed = whole | {
        (line, less) for line, klass in whole for less in LESS_CERTAIN.get(klass, set())
    }
    for end in range(len(data)):
        text = data[:end].decode(errors="replace")
        for cause in causes_of(text):
            if cause.rank is not Rank.ROOT:
                continue
            if cause.klass in UNKNOWN:
                # An exception whose words are not all there: its line is shown as it stands.
                assert cause.evidence in " ".join(text.split())
                continue
            assert (cause.line, cause.klass) in allowed, (end, cause, classes)


@pytest.mark.parametrize("name", sorted(LOGS))
@given(prefix=PREFIXES)
def test_what_stands_before_the_lines_changes_nothing(name, prefix):
    """Class, line, place, layer and order stay; only the evidence holds the prefix."""
    plain = causes_of(LOGS[name])
    told = causes_of("\n".join(prefix + line for line in LOGS[name].splitlines()))

    def kept(cause: Cause) -> tuple[object, ...]:
        return (
            *(cause.klass, cause.line, cause.rank, cause.code, cause.times, cause.site),
            *(cause.layer, [switch.layer for switch in cause.switches]),
        )

    assert [kept(cause) for cause in told] == [kept(cause) for cause in plain]


@pytest.mark.parametrize(
    ("name", "klass", "file", "layer"),
    [
        ("vllm_all_reduce", "illegal_memory_access", "custom_all_reduce.py", "custom all-reduce"),
        ("sglang_compile", "compile_in_capture", "sampler.py", "torch.compile"),
        ("sync", "data_dependent_shape", "model.py", "user op"),
        ("tgi_memory", "oom_in_capture", "flash_causal_lm.py", None),
        ("crash", "segmentation_fault", "fused_moe.py", "MoE or quantised kernel"),
        ("hang", "collective_timeout", None, None),
        ("unknown", "other_error", "rotary.py", None),
    ],
)
def test_the_logs_have_one_root(name, klass, file, layer):
    """What the properties above compare with is itself right, by hand."""
    (only,) = [cause for cause in causes_of(LOGS[name]) if cause.rank is Rank.ROOT]
    assert (only.klass, only.layer) == (klass, layer)
    assert (only.site.file if only.site else None) == file


@given(st.text())
def test_any_text_is_answered(text):
    """No text makes the doctor fail; what it shows stands in the text."""
    for cause in causes_of(text):
        assert cause.cause and cause.remedy
