"""The layer that a stack names, the place of the failure, and what to switch off in which order."""

from __future__ import annotations

import json

import pytest

from core.__main__ import main
from core.diagnose import diagnose
from core.failures.layers import Layer
from core.failures.switches import GRAPHS, SWITCHES, Served, to_switch_off

ILLEGAL = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
FORBIDDEN = "RuntimeError: CUDA error: operation not permitted when stream is capturing"
SITE = "/usr/lib/python3.12/site-packages"


def stack(*frames: str, error: str = ILLEGAL) -> str:
    """A traceback: each frame as `path|function|code`."""
    lines = ["Traceback (most recent call last):"]
    for number, frame in enumerate(frames, start=10):
        path, function, code = frame.split("|")
        lines += [f'  File "{path}", line {number}, in {function}', f"    {code}"]
    return "\n".join([*lines, error])


@pytest.mark.parametrize(
    ("frame", "layer"),
    [
        (
            f"{SITE}/vllm/distributed/device_communicators/custom_all_reduce.py|f|x",
            Layer.CUSTOM_ALL_REDUCE,
        ),
        (
            "/opt/sglang/srt/distributed/device_communicators/custom_all_reduce.py|f|x",
            Layer.CUSTOM_ALL_REDUCE,
        ),
        (f"{SITE}/vllm/compilation/passes/fusion/allreduce_rms_fusion.py|f|x", Layer.FUSION),
        (f"{SITE}/vllm/compilation/collective_fusion.py|f|x", Layer.FUSION),
        ("/opt/sglang/srt/layers/flashinfer_comm_fusion.py|flashinfer_allreduce_fusion|x", None),
        (f"{SITE}/vllm/v1/attention/backends/flashinfer.py|forward|x", Layer.ATTENTION),
        ("/opt/sglang/srt/layers/attention/flashinfer_backend.py|f|x", Layer.ATTENTION),
        (f"{SITE}/flashinfer/decode.py|run|x", Layer.ATTENTION),
        (f"{SITE}/vllm/model_executor/layers/fused_moe/fused_moe.py|f|x", Layer.MOE),
        ("/opt/sglang/srt/layers/quantization/fp8_kernel.py|f|x", Layer.MOE),
        (f"{SITE}/vllm/distributed/device_communicators/pynccl.py|all_reduce|x", Layer.NCCL),
        (f"{SITE}/torch/distributed/distributed_c10d.py|all_gather|x", Layer.NCCL),
        (f"{SITE}/torch/_inductor/runtime/triton_heuristics.py|run|x", Layer.COMPILE),
        ("/tmp/torchinductor_root/ab/cab.py|call|x", Layer.COMPILE),
        ("/home/me/my_op.py|forward|y = mine(x)", Layer.USER_OP),
    ],
)
def test_the_innermost_frame_names_the_layer(frame, layer):
    """Outer frames of the runner and of the compiler's wrapper do not decide."""
    outer = (
        f"{SITE}/vllm/v1/worker/gpu_model_runner.py|capture_model|self._capture()",
        f"{SITE}/vllm/compilation/wrapper.py|__call__|return self.forward(*args)",
    )
    first = diagnose(stack(*outer, frame)).first
    assert first is not None
    assert first.layer == (layer or Layer.FUSION)
    assert frame.split("|")[0] in first.shown_by


def test_a_stack_without_a_sign_names_no_layer():
    """A runner's frame alone points to no layer; the search then begins with the cheapest."""
    first = diagnose(stack(f"{SITE}/vllm/v1/worker/gpu_model_runner.py|f|x")).first
    assert first is not None and first.layer is None
    assert first.switches[0].layer == Layer.CUSTOM_ALL_REDUCE


def test_a_script_outside_of_the_engine_is_no_user_op():
    """Who started the engine did not write the operation; who is called by it did."""
    runner = f"{SITE}/vllm/v1/worker/gpu_model_runner.py|f|x"
    outside = diagnose(stack("/home/me/bench.py|<module>|llm.generate()", runner)).first
    inside = diagnose(stack(runner, "/home/me/my_op.py|forward|mine(x)")).first
    assert outside is not None and outside.layer is None
    assert outside.site is not None and outside.site.file == "gpu_model_runner.py"
    assert inside is not None and inside.layer is Layer.USER_OP


def test_the_compilers_outer_frames_are_not_the_layer():
    """A model's forward always runs below torch.compile's frames."""
    outer = f"{SITE}/torch/_dynamo/eval_frame.py|_fn|return fn()"
    model = f"{SITE}/vllm/model_executor/models/llama.py|forward|x"
    first = diagnose(stack(outer, model)).first
    assert first is not None and first.layer is None


def test_an_environment_of_that_name_names_no_engine():
    """/envs/vllm/lib is a folder that somebody called vllm."""
    text = stack("/envs/vllm/lib/python3.11/site-packages/sglang/srt/x.py|f|x")
    assert diagnose(text).served.engine == "sglang"


@pytest.mark.parametrize(
    ("native", "layer"),
    [
        ("#4 0x00007f in ncclLaunchKernel () from libnccl.so.2", Layer.NCCL),
        ("frame #7: flashinfer::BatchDecodeWithPagedKVCacheDispatched + 0x9 (0x7f)", None),
        ("#2 0x00007f in vllm::cross_device_reduce_1stage () from _C.abi3.so", "custom"),
        ("#1 0x00007f in marlin::Marlin<long> () from _moe_C.abi3.so", Layer.MOE),
    ],
)
def test_a_native_stack_names_the_layer(native, layer):
    """A crash prints its stack below the message, innermost first."""
    text = f"!!!!!!! Segfault encountered !!!!!!!\n#0 0x7f in raise () from libc.so.6\n{native}"
    first = diagnose(text).first
    wanted = {None: Layer.ATTENTION, "custom": Layer.CUSTOM_ALL_REDUCE}.get(layer, layer)
    assert first is not None and (first.klass, first.layer) == ("segmentation_fault", wanted)


def test_pythons_own_crash_report_is_read_from_its_top():
    """`most recent call first`: the first engine line is the place."""
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        "Current thread 0x00007f (most recent call first):\n"
        f'  File "{SITE}/torch/_ops.py", line 1116 in __call__\n'
        '  File "/opt/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py", line 20 in invoke\n'
        '  File "/usr/lib/python3.10/threading.py", line 900 in run\n'
    )
    first = diagnose(text).first
    assert first is not None and first.layer is Layer.MOE
    assert first.site is not None and first.site.file == "fused_moe.py"


def test_the_watchdogs_stack_does_not_blame_nccl():
    """The watchdog only reports what another kernel did."""
    text = (
        "Process group watchdog thread terminated with exception: CUDA error: an illegal memory "
        "access was encountered\n"
        "frame #2: c10d::ProcessGroupNCCL::WorkNCCL::checkAndSetException() + 0x9 (0x7f)\n"
    )
    first = diagnose(text).first
    assert first is not None and first.klass == "illegal_memory_access"
    assert first.layer is None


@pytest.mark.parametrize(
    "launcher",
    [
        "/usr/local/bin/vllm|<module>|sys.exit(main())",
        "<frozen runpy>|_run_code|",
        "/usr/lib/python3.12/multiprocessing/process.py|run|self._target()",
        f"{SITE}/typer/main.py|wrapper|return callback()",
        f"{SITE}/vllm/entrypoints/cli/main.py|main|args.dispatch_function(args)",
        "/opt/sglang/launch_server.py|<module>|run_server(args)",
    ],
)
def test_where_is_the_engines_frame_and_never_a_launcher(launcher):
    """What only started the process is not the place of the failure."""
    inner = f"{SITE}/vllm/v1/worker/gpu_model_runner.py|capture_model|self._capture()"
    first = diagnose(stack(launcher, inner, f"{SITE}/torch/cuda/graphs.py|__exit__|end()")).first
    assert first is not None and first.site is not None
    assert first.site.file == "gpu_model_runner.py"
    alone = diagnose(stack(launcher)).first
    assert alone is not None and alone.site is None


def test_an_environment_named_like_the_engine_is_not_the_engine():
    """torch in /envs/vllm is torch."""
    first = diagnose(stack("/envs/vllm/lib/python3.11/site-packages/torch/x.py|f|x")).first
    assert first is not None and first.layer is None


@pytest.mark.parametrize(
    ("frames", "error", "klass"),
    [
        (
            (f"{SITE}/torch/_dynamo/eval_frame.py|_fn|return fn()",),
            "RuntimeError: Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture",
            "compile_in_capture",
        ),
        (
            ("/srv/step.py|f|y = g(x)",),
            "torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: Cannot call "
            "CUDAGeneratorImpl::get_state during CUDA graph capture",
            "compile_in_capture",
        ),
        (
            (f"{SITE}/torch/_inductor/compile_fx.py|f|x",),
            "RuntimeError: Cannot call CUDAGeneratorImpl::set_state during CUDA graph capture",
            "compile_in_capture",
        ),
        (
            ("/srv/step.py|f|torch.manual_seed(1)",),
            "RuntimeError: Cannot call CUDAGeneratorImpl::set_current_seed during CUDA graph "
            "capture",
            "rng",
        ),
        (
            (
                '/srv/step.py|f|print("x", x)',
                f"{SITE}/torch/_tensor.py|__repr__|return torch._tensor_str._str(self)",
                f"{SITE}/torch/_tensor_str.py|__init__|v = torch.masked_select(t, finite)",
            ),
            FORBIDDEN,
            "host_sync",
        ),
        (
            (
                '/srv/step.py|f|logger.info(f"{x}")',
                f"{SITE}/torch/_tensor.py|__format__|return object.__format__(self, spec)",
            ),
            FORBIDDEN,
            "host_sync",
        ),
        (
            ("/srv/step.py|f|n = count_all[keep]",),
            f"{FORBIDDEN} (memcpy_and_sync, nonzero)",
            "data_dependent_shape",
        ),
        (
            ("/srv/step.py|f|n = count_all[keep]",),
            f"{FORBIDDEN}\n(memcpy_and_sync, nonzero)",
            "data_dependent_shape",
        ),
        (
            ("/srv/step.py|f|n = rows[keep]",),
            f"{FORBIDDEN}\nframe #3: at::native::nonzero_cuda(at::Tensor const&) + 0x9 (0x7f)",
            "data_dependent_shape",
        ),
        (("/srv/step.py|f|n = take(x)",), f"{FORBIDDEN} (_local_scalar_dense)", "host_sync"),
    ],
)
def test_the_remedy_follows_the_stack(frames, error, klass):
    """The same words are another class by what stands around them."""
    first = diagnose(stack(*frames, error=error)).first
    assert first is not None and first.klass == klass


def test_a_print_is_placed_at_the_users_line():
    """The place is the print, not the library's formatting below it."""
    frames = ("/srv/step.py|f|print(x)", f"{SITE}/torch/_tensor_str.py|f|torch.masked_select(x, m)")
    first = diagnose(stack(*frames, error=FORBIDDEN)).first
    assert first is not None and first.site is not None and first.site.file == "step.py"
    assert "print" in first.remedy


@pytest.mark.parametrize(
    ("version", "layer", "flag"),
    [
        ("0.10.2", Layer.FUSION, "enable_fi_allreduce_fusion"),
        ("0.12.0", Layer.FUSION, "fuse_allreduce_rms"),
        ("0.11.0", Layer.ATTENTION, "VLLM_ATTENTION_BACKEND=TRITON_ATTN"),
        ("0.20.1", Layer.ATTENTION, "--attention-backend TRITON_ATTN"),
        ("0.11.0", Layer.COMPILE, '"level": 0'),
        ("0.13.0", Layer.COMPILE, '"mode": 0'),
        ("0.19.1", Layer.ENCODER, "cudagraph_mm_encoder"),
    ],
)
def test_flags_are_spelt_as_the_release_spells_them(version, layer, flag):
    """The layer comes first, with one spelling; graphs are switched off last."""
    order = to_switch_off(Served("vllm", version), layer, search=True)
    assert order[0].layer == layer and flag in order[0].flag
    assert order[-1].layer == GRAPHS
    layers = [switch.layer for switch in order]
    assert len(set(layers)) == len(layers)


@pytest.mark.parametrize("engine", sorted(SWITCHES))
def test_every_order_ends_without_graphs_and_tells_costs(engine):
    """Without a release the newest spelling is given, once a layer."""
    order = to_switch_off(Served(engine), None, search=True)
    assert order[-1].layer == GRAPHS and all(switch.costs for switch in order)
    assert len({switch.layer for switch in order}) == len(order)


def test_an_unknown_engine_gets_both_spellings():
    """Nothing is guessed: the flags say for which engine they are."""
    order = to_switch_off(Served(), Layer.ATTENTION, search=False)
    assert [switch.layer for switch in order] == [Layer.ATTENTION, GRAPHS]
    assert order[0].flag.startswith("vLLM: ") and "SGLang: --attention-backend" in order[0].flag


@pytest.mark.parametrize(
    ("line", "served"),
    [
        ("vLLM API server version 0.11.0", Served("vllm", "0.11.0")),
        ("Initializing a V1 LLM engine (v0.15.1) with config: x", Served("vllm", "0.15.1")),
        ("image: vllm/vllm-openai:v0.20.1", Served("vllm", "0.20.1")),
        ("docker run lmsysorg/sglang:v0.5.4 x", Served("sglang", "0.5.4")),
        ("[TensorRT-LLM] TensorRT-LLM version: 1.1.0", Served("trtllm", "1.1.0")),
    ],
)
def test_engine_and_release_are_read_from_the_text(line, served):
    """A start-up line or an image tag tells both."""
    assert diagnose(f"{line}\n{ILLEGAL}").served == served


@pytest.mark.parametrize(
    "before",
    [
        "Capturing encoder CUDA graphs:  10%|#| 1/8",
        "Capturing encoder CUDA graphs for 6 token budgets",
        "Capturing CUDA graphs (encoder, 4096 tokens)",
    ],
)
def test_memory_that_runs_out_in_encoder_graphs(before):
    """They have a switch of their own; fewer decode sizes would not help."""
    text = f"vLLM API server version 0.20.1\n{before}\ntorch.OutOfMemoryError: CUDA out of memory."
    first = diagnose(text).first
    assert first is not None and (first.klass, first.layer) == ("encoder_graphs", Layer.ENCODER)
    assert "cudagraph_mm_encoder" in first.switches[0].flag
    decode = f"{before}\nCapturing CUDA graphs (decode, FULL): 1/8\n{ILLEGAL}"
    later = diagnose(decode).first
    assert later is not None and later.layer is None


@pytest.mark.parametrize(
    ("actual_gib", "told"), [("5.20", True), ("1.60", True), ("1.59", False), ("0.31", False)]
)
def test_a_pool_far_above_its_estimate_with_encoder_graphs(actual_gib, told):
    """One GiB or more above the estimate is told, with both figures; less is not."""
    text = (
        "Profiling CUDA graph memory: PIECEWISE=11 (largest=64), FULL=7 (largest=32), ENCODER=6 "
        "(largest=4096)\n"
        f"CUDA graph pool memory: {actual_gib} GiB (actual), 0.60 GiB (estimated)"
    )
    causes = diagnose(text).causes
    assert [cause.klass for cause in causes] == (["encoder_graphs"] if told else [])
    without = text.replace(", ENCODER=6 (largest=4096)", "")
    assert diagnose(without).causes == ()


def test_the_command_shows_layer_and_order(tmp_path, capsys):
    """Text and JSON hold the layer, the frame that shows it, each flag and its cost."""
    frame = f"{SITE}/vllm/distributed/device_communicators/custom_all_reduce.py|f|x"
    path = tmp_path / "error.log"
    path.write_text(f"vLLM API server version 0.11.0\n{stack(frame)}", "utf-8")
    assert main(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert "layer:  custom all-reduce, shown by" in out
    assert "in this order (vLLM 0.11.0):" in out
    assert "1. custom all-reduce: --disable-custom-all-reduce\n        costs:" in out
    assert main(["diagnose", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["engine"], answer["version"]) == ("vllm", "0.11.0")
    first = answer["causes"][0]
    assert (
        first["layer"] == "custom all-reduce" and "custom_all_reduce.py" in first["layer_shown_by"]
    )
    assert first["switch_off"][-1]["flag"] == "--enforce-eager"
