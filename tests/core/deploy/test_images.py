"""Engine and release by image tag, by command and by installed package."""

from __future__ import annotations

import pytest

from core.deploy.images import image_says, split_image
from core.deploy.launchers import find_launch, mentions_launcher, variant
from core.deploy.packages import installed


@pytest.mark.parametrize(
    ("image", "engine", "release"),
    [
        ("vllm/vllm-openai:v0.20.1", "vllm", "0.20.1"),
        ("docker.io/vllm/vllm-openai:v0.8.5.post1", "vllm", "0.8.5.post1"),
        ("registry:5000/team/vllm-openai:v0.9.1@sha256:abc", "vllm", "0.9.1"),
        ("vllm/vllm-openai:latest", "vllm", None),
        ("vllm/vllm-openai", "vllm", None),
        ("vllm/vllm-openai:nightly-0a1b2c", "vllm", None),
        ("vllm/vllm-openai:gptoss", "vllm", None),
        ("vllm/vllm-openai:v0.11.0-x86_64", "vllm", "0.11.0"),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:0.10.0-gpu-py312", "vllm", "0.10.0"),
        ("rocm/vllm:rocm6.4.1_vllm_0.9.1_20250715", "vllm", "0.9.1"),
        ("nvcr.io/nvidia/vllm:25.09-py3", "vllm", None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.0", "vllm", None),
        ("nvcr.io/nvidia/sglang:25.10-py3", "sglang", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.3.0", "vllm", None),
        ("lmsysorg/sglang:v0.5.9-cu128", "sglang", "0.5.9"),
        ("lmsysorg/sglang:v0.5.3rc0-cu126", "sglang", "0.5.3rc0"),
        ("lmsysorg/sglang:dev", "sglang", None),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc4", "trtllm", "1.2.0rc4"),
        ("nvcr.io/nvidia/tritonserver:25.05-trtllm-python-py3", "trtllm", None),
        ("ghcr.io/huggingface/text-generation-inference:3.3.4-rocm", "tgi", "3.3.4"),
        ("ghcr.io/huggingface/text-generation-inference:sha-12ab", "tgi", None),
        ("openmmlab/lmdeploy:v0.9.2-cu12", "lmdeploy", "0.9.2"),
        ("quay.io/ascend/vllm-ascend:v0.11.0rc1-a3", "ascend", "0.11.0rc1"),
        ("vault.habana.ai/gaudi-docker/1.22.0/ubuntu22.04/habanalabs/vllm:x", "gaudi", None),
    ],
)
def test_images(image: str, engine: str, release: str | None) -> None:
    """The tag is the release only where the publisher counts the engine's releases by it."""
    says = image_says(image)
    assert says is not None
    assert (says.engine, says.release) == (engine, release)
    assert bool(says.why) == (release is None)


@pytest.mark.parametrize("image", ["redis:7", "nginx", "python:3.11", "ollama/ollama", "my/llm:1"])
def test_images_of_no_engine(image: str) -> None:
    assert image_says(image) is None


def test_a_port_is_no_tag() -> None:
    """And a digest is cut."""
    assert split_image("host:5000/a/b") == ("host:5000/a/b", "")
    assert split_image("host:5000/a/B:V1@sha256:0") == ("host:5000/a/b", "v1")


@pytest.mark.parametrize(
    ("command", "engine", "model", "rest"),
    [
        ("vllm serve m --x 1", "vllm", "m", ("--x", "1")),
        ("exec /opt/venv/bin/vllm serve --x", "vllm", "", ("--x",)),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "vllm", "", ("--model", "m")),
        ("python -m vllm.entrypoints.api_server", "vllm", "", ()),
        ("numactl -N 0 python -m sglang.launch_server --tp 2", "sglang", "", ("--tp", "2")),
        (
            "mpirun -n 8 trtllm-llmapi-launch trtllm-serve m --tp_size 8",
            "trtllm",
            "m",
            ("--tp_size", "8"),
        ),
        ("trtllm-serve serve m", "trtllm", "m", ()),
        ("text-generation-launcher --model-id m", "tgi", "", ("--model-id", "m")),
        ("lmdeploy serve api_server m --tp 1", "lmdeploy", "m", ("--tp", "1")),
        ("python -m fastdeploy.entrypoints.openai.api_server", "fastdeploy", "", ()),
        ("python3 -m dynamo.sglang.worker --x", "sglang", "", ("--x",)),
    ],
)
def test_commands(command: str, engine: str, model: str, rest: tuple[str, ...]) -> None:
    """Whatever stands before a launcher, what follows are its arguments."""
    launch = find_launch(command.split())
    assert launch is not None
    assert (launch.engine, launch.model, launch.rest) == (engine, model, rest)
    assert mentions_launcher(f"x; {command}")


@pytest.mark.parametrize(
    "command",
    ["vllm-router --port 1", "trtllm-serve disaggregated -c x", "pip install vllm", "serve vllm"],
)
def test_commands_of_no_engine(command: str) -> None:
    assert find_launch(command.split()) is None


def test_variables_of_a_plug_in() -> None:
    """vLLM on Gaudi or Ascend is told by the variables that only its plug-in reads."""
    assert variant("vllm", ["VLLM_DECODE_BS_BUCKET_MAX"]) == "gaudi"
    assert variant("vllm", ["ASCEND_RT_VISIBLE_DEVICES"]) == "ascend"
    assert variant("vllm", ["VLLM_USE_V1", "HF_TOKEN"]) == "vllm"
    assert variant("sglang", ["HABANA_LOGS"]) == "sglang"


def test_packages() -> None:
    """Pinned packages; a part of another name is none."""
    text = 'uv pip install "sglang[all]==0.5.3" && pip install vllm===0.9.1 my-vllm==3 vllm>=1'
    assert installed(text) == {"sglang": "0.5.3", "vllm": "0.9.1"}
    assert installed("tensorrt_llm==1.0.0") == {"trtllm": "1.0.0"}
