"""Scripts, units, Dockerfiles, SkyPilot, Ray Serve and plain texts: what they start, by hand."""

from __future__ import annotations

import pytest

from core.errors import FileContentError
from tests.core.deploy.helpers import EAGER8, all_say, every, only, says, settings

# Shell -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --max-num-seqs 8 --enforce-eager",
        '#!/bin/bash\nARGS=(--max-num-seqs 8)\nARGS+=(--enforce-eager)\nvllm serve m "${ARGS[@]}"',
        "MAX=${MAX_SEQS:-8}\nexec vllm serve m --max-num-seqs $MAX --enforce-eager 2>&1 | tee x",
        "B=4\nnohup vllm serve m --max-num-seqs=$((B * 2)) --enforce-eager > log &",
        "cat > c.yaml <<EOF\nmax-num-seqs: 8\nenforce-eager: true\nEOF\n"
        "vllm serve m --config c.yaml",
        "cat <<'EOF' > c.yaml\nmax-num-seqs: 8\nEOF\nvllm serve m --config=c.yaml --enforce-eager",
        'CMD="vllm serve m --max-num-seqs 8 --enforce-eager"\n$CMD',
        "tmux new -d 'vllm serve m --max-num-seqs 8 --enforce-eager'",
        "ssh host <<EOF\nvllm serve m --max-num-seqs 8 --enforce-eager\nEOF",
        "cat > run.sh <<'EOF'\nvllm serve m --max-num-seqs $1 --enforce-eager\nEOF\nbash run.sh 8",
        "srun -N1 bash -c 'vllm serve m --max-num-seqs 8 --enforce-eager'",
        "serve() { vllm serve m --max-num-seqs ${SEQS:=8} --enforce-eager; }\nserve",
        "$ vllm serve m \\\n    --max-num-seqs 8 \\\n    --enforce-eager",
    ],
)
def test_shell(text: str) -> None:
    """Arrays, defaults, sums, heredocs, functions and commands inside commands."""
    one = only(text)
    assert says(one) == ("vllm", None, EAGER8)
    assert (one.unset, one.not_understood) == ((), ())


def test_shell_with_docker_and_a_yaml_of_its_own() -> None:
    """TensorRT-LLM: the YAML wins over the flag, and the release stands in the image."""
    text = """
cat > /tmp/x.yml <<EOF
cuda_graph_config:
  enable_padding: true
  batch_sizes: [1, 2, ${TOP:-8}]
max_batch_size: 8
EOF
docker run --rm --gpus all nvcr.io/nvidia/tensorrt-llm/release:1.2.1 \\
  trtllm-serve m --max_batch_size 64 --extra_llm_api_options /tmp/x.yml
"""
    one = only(text)
    wanted = {"enable_padding": True, "batch_sizes": (1, 2, 8), "max_batch_size": 8}
    assert says(one) == ("trtllm", "1.2.1", wanted)
    assert any("the file wins" in sentence for sentence in one.evidence)


def test_two_roles_in_one_script() -> None:
    """Each branch of an open condition is an answer with its condition."""
    text = """
if [ "$ROLE" = prefill ]; then
  python -m sglang.launch_server --disaggregation-mode prefill --disable-cuda-graph
else
  python -m sglang.launch_server --disaggregation-mode decode --cuda-graph-max-bs $BS
fi
"""
    first, second = every(text)
    assert (first.role, second.role) == ("prefill", "decode")
    assert settings(first) == {"disable_cuda_graph": True, "disaggregation_mode": "prefill"}
    assert second.unset == ("BS",)
    assert "$ROLE" in first.not_understood[0] and "not" in second.not_understood[0]
    assert settings(every(text, BS="4")[1]) == {"cuda_graph_max_bs": 4}
    assert settings(only(text, ROLE="prefill")) == {"disable_cuda_graph": True}


def test_a_flag_that_depends_is_said_and_not_read() -> None:
    """The script's own arguments may hold flags too."""
    text = 'A=(--max-num-seqs 8)\n[ -n "$EAGER" ] && A+=(--enforce-eager)\n'
    text += 'vllm serve $1 "${A[@]}" "$@"'
    one = only(text)
    assert settings(one) == {"max_num_seqs": 8}
    assert one.unset == ("@",)
    assert "--enforce-eager" in one.not_understood[0] and "EAGER" in one.not_understood[0]
    assert settings(only(text, EAGER="1")) == EAGER8


def test_a_file_that_an_open_condition_changes() -> None:
    """What it would add is said and not read; the script's argument is asked for."""
    text = """
F=x.yaml
cat > $F <<EOF
max-num-seqs: $1
EOF
if [ "$SPEC" = mtp ]; then
cat >> $F <<EOF
enforce-eager: true
EOF
fi
vllm serve m --config $F
"""
    one = only(text)
    assert (settings(one), one.unset) == ({}, ("1",))
    assert "x.yaml gains lines only if" in one.not_understood[0]
    assert settings(only(text, "vllm", **{"1": "8", "SPEC": "mtp"})) == EAGER8


def test_installed_release_and_secret() -> None:
    """pip tells the release; a key is not kept."""
    one = only("pip install vllm==0.19.1\nvllm serve m --api-key sk-1 --max-num-seqs 8")
    assert says(one) == ("vllm", "0.19.1", {"max_num_seqs": 8})
    assert "sk-1" not in one.text
    text = 'A=(--x)\n[ $B = 1 ] && A+=(--api-key sk-1)\nvllm serve m "${A[@]}"'
    assert "--api-key ***" in only(text).not_understood[0]


# systemd ---------------------------------------------------------------------------------------

UNIT = "[Unit]\nDescription=LLM\n[Service]\n{lines}\n[Install]\nWantedBy=multi-user.target\n"


@pytest.mark.parametrize(
    "lines",
    [
        "ExecStart=/opt/v/bin/vllm serve m --max-num-seqs 8 --enforce-eager",
        "Environment=SEQS=8\nExecStart=vllm serve m \\\n  --max-num-seqs ${SEQS} \\\n"
        "# note\n  --enforce-eager",
        'Environment="OPTS=--max-num-seqs 8 --enforce-eager" X=1\nExecStart=-vllm serve m $OPTS',
        "ExecStart=\nExecStart=/bin/sh -c 'exec vllm serve m --max-num-seqs 8 --enforce-eager'",
        "ExecStart=/usr/bin/docker run --rm --name x vllm/vllm-openai --model m "
        "--max-num-seqs 8 --enforce-eager",
    ],
)
def test_systemd(lines: str) -> None:
    """Environment, joined lines, prefixes, a shell and docker in ExecStart."""
    one = only(UNIT.format(lines=lines))
    assert says(one) == ("vllm", None, EAGER8)


def test_quadlet_and_an_environment_file() -> None:
    """A quadlet's Image and Exec; a file of variables that is not here is said."""
    text = "[Container]\nImage=docker.io/vllm/vllm-openai:v0.19.1\n"
    text += "Exec=--model m --max-num-seqs $N\nEnvironmentFile=-/etc/v\n"
    one = only(text)
    assert says(one) == ("vllm", "0.19.1", {})
    assert one.unset == ("N",) and "/etc/v" in one.not_understood[0]
    assert settings(only(text, N="8")) == {"max_num_seqs": 8}


# Dockerfile ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        'CMD ["--model", "m", "--max-num-seqs", "8", "--enforce-eager"]',
        'ENTRYPOINT ["vllm", "serve"]\nCMD ["m", "--max-num-seqs", "8", "--enforce-eager"]',
        "ENV SEQS=8\nCMD vllm serve m --max-num-seqs ${SEQS} --enforce-eager",
        "ENV SEQS 8\nENTRYPOINT exec vllm serve m --max-num-seqs $SEQS \\\n   --enforce-eager",
        "COPY <<EOF /run.sh\nvllm serve m --max-num-seqs 8 --enforce-eager\nEOF\n"
        'CMD ["bash", "/run.sh"]',
        "RUN echo 'max-num-seqs: 8' > /c.yaml\n"
        'CMD ["m", "--config", "/c.yaml", "--enforce-eager"]',
        'ENTRYPOINT ["x"]\nCMD ["old"]\nENTRYPOINT ["vllm","serve"]\n'
        'CMD ["m","--max-num-seqs","8","--enforce-eager"]',
    ],
)
def test_dockerfile(lines: str) -> None:
    """CMD and ENTRYPOINT in both forms, ENV, and files that the build writes."""
    one = only(f"# build\nARG TAG=v0.19.1\nFROM vllm/vllm-openai:${{TAG}}\nRUN ls\n{lines}\n")
    assert says(one) == ("vllm", "0.19.1", EAGER8)


def test_dockerfile_stages_and_packages() -> None:
    """A stage on another stage keeps its image and command; an installed release stands above."""
    text = """
FROM vllm/vllm-openai:v0.8.5 AS base
ENTRYPOINT ["vllm", "serve", "m"]
FROM base
RUN pip install --no-cache-dir \\
    vllm==0.19.1
CMD ["--max-num-seqs", "8"]
"""
    assert says(only(text)) == ("vllm", "0.19.1", {"max_num_seqs": 8})
    with pytest.raises(FileContentError, match="no engine"):
        every('FROM python:3.11\nCMD ["python", "app.py"]\n')


# SkyPilot, Ray Serve ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "resources: {accelerators: H100}\nenvs: {SEQS: 8}\nsetup: pip install vllm==0.19.1\n"
        "run: |\n  vllm serve $MODEL --max-num-seqs $SEQS --enforce-eager\n",
        "name: a\nsetup: |\n  uv pip install vllm==0.19.1\n  cat > c.yaml <<EOF\n"
        "  max-num-seqs: 8\n  EOF\n"
        "run: vllm serve m --config c.yaml --enforce-eager\n".replace("\n  EOF", "\n  EOF"),
        "resources: {image_id: 'docker:vllm/vllm-openai:v0.19.1'}\n"
        "run: python -m vllm.entrypoints.openai.api_server --max-num-seqs 8 --enforce-eager\n",
        "resources: {cpus: 4}\nrun: |\n"
        "  docker run vllm/vllm-openai:v0.19.1 --max-num-seqs $((2 * 4)) --enforce-eager\n",
    ],
)
def test_skypilot(text: str) -> None:
    """Setup tells the release, envs the variables, run the command."""
    assert says(only(text)) == ("vllm", "0.19.1", EAGER8)


def test_skypilot_pipeline() -> None:
    """One answer a task; a variable without value is asked for."""
    text = (
        "name: a\nresources: {cpus: 1}\nrun: vllm serve m --max-num-seqs 4\n---\n"
        "name: b\nenvs: {N: null}\nrun: vllm serve m --max-num-seqs $N\n"
    )
    first, second = every(text)
    assert (first.name, settings(first)) == ("a", {"max_num_seqs": 4})
    assert (second.name, second.unset) == ("b", ("N",))
    assert settings(every(text, N="8")[1]) == {"max_num_seqs": 8}


RAY = """
applications:
- name: llm
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config: {model_id: qwen}
      runtime_env: {pip: ["vllm==0.19.1"]}
      engine_kwargs: {max_num_seqs: 8, enforce_eager: true}
    - model_loading_config: {model_id: llama}
      engine_kwargs:
        compilation_config: {cudagraph_mode: PIECEWISE, cudagraph_capture_sizes: [1, 2]}
"""


def test_ray_serve() -> None:
    """One answer a model, in a Serve file, inside a RayService, or alone."""
    first, second = every(RAY)
    assert says(first) == ("vllm", "0.19.1", EAGER8)
    wanted = {"cudagraph_mode": "PIECEWISE", "cudagraph_capture_sizes": (1, 2)}
    assert says(second) == ("vllm", None, wanted)
    inside = "".join(f"    {line}\n" for line in RAY.splitlines())
    service = f"apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n{inside}"
    assert all_say(service) == all_say(RAY)
    alone = (
        "model_loading_config: {model_id: q}\nengine_kwargs: {max_num_seqs: 8, enforce_eager: true}"
    )
    assert says(only(alone)) == ("vllm", None, EAGER8)
    old = "engine_config: {model_id: q, engine_kwargs: {max_num_seqs: 8, enforce_eager: true}}"
    assert says(only(old)) == ("vllm", None, EAGER8)
    prefill = "applications:\n- args:\n    prefill_config: {engine_kwargs: {max_num_seqs: 4}}\n"
    assert only(prefill).role == "prefill"


# Python ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "LLM(model='m', max_num_seqs=8, enforce_eager=True)",
        "from vllm import LLM\nN = 8\nllm = LLM('m', max_num_seqs=N, enforce_eager=True)\n",
        "from vllm import AsyncEngineArgs\nargs = AsyncEngineArgs(**base, max_num_seqs=8, "
        "enforce_eager=True)",
        "import os, vllm\nvllm.LLM(max_num_seqs=int(os.environ.get('N', 8)), enforce_eager=True)",
    ],
)
def test_python(text: str) -> None:
    """Keywords that are literals, names or defaults of the environment."""
    assert says(only(text)) == ("vllm", None, EAGER8)


def test_python_of_other_engines_and_what_it_computes() -> None:
    """The import tells the engine; config classes are their keywords; a sum stays open."""
    text = """
from tensorrt_llm import LLM
from tensorrt_llm.llmapi import CudaGraphConfig
llm = LLM(model="m", max_batch_size=4,
          cuda_graph_config=CudaGraphConfig(batch_sizes=[1, 2], enable_padding=True))
"""
    wanted = {"max_batch_size": 4, "batch_sizes": (1, 2), "enable_padding": True}
    assert says(only(text)) == ("trtllm", None, wanted)
    text = "import sglang as sgl\nsgl.Engine(cuda_graph_max_bs=n * 2, max_running_requests=M)\n"
    one = only(text)
    assert (one.engine, settings(one), one.unset) == ("sglang", {}, ("$(n * 2)", "M"))
    assert settings(only(text, M="4")) == {"max_running_requests": 4}
    text = "from vllm import LLM\nLLM(compilation_config={'cudagraph_mode': CUDAGraphMode.FULL})"
    assert settings(only(text)) == {"cudagraph_mode": "FULL"}
    text = "from vllm import LLM\nLLM(**kw, max_num_seqs=8)"
    assert "**kw" in only(text).not_understood[0]


# Plain configurations and nothing --------------------------------------------------------------


def test_plain_configurations_stay_what_they_are() -> None:
    """A log and settings alone are no deployment; their engine is told by words or keys."""
    log = "INFO 04-23 11:34:24 Capturing CUDA graph shapes: 100%|##| 35/35\n+ vllm serve m 'x\n"
    assert (only(log).kind, only(log).engine) == ("", "vllm")
    flags = "--max-num-seqs 8 --enforce-eager"
    assert (only(flags, "vllm").kind, only(flags).engine) == ("", None)
    assert only("cuda_graph_config: {batch_sizes: [1]}").engine == "trtllm"
    sglang = "cuda_graph_config: {decode: {bs: [1, 2]}, prefill: {backend: disabled}}"
    assert (only(sglang).kind, only(sglang, "sglang").kind) == ("", "")
    other = "INFO 1 a\nWARNING 2 b: vllm serve 'm\nINFO 3 c\n"
    assert only(other, "vllm").kind == ""


def test_another_engine_than_the_one_asked_for() -> None:
    """The containers of others are named; a plug-in of vLLM takes vLLM's command."""
    with pytest.raises(FileContentError, match="SGLang"):
        every("python -m sglang.launch_server --tp 2", "vllm")
    assert only("vllm serve m --max-num-seqs 8", "ascend").engine == "ascend"
    text = "services: {a: {image: 'my/llm:1', command: --max-num-seqs 8}}"
    assert says(only(text, "vllm")) == ("vllm", None, {"max_num_seqs": 8})
    with pytest.raises(FileContentError, match="my/llm:1"):
        every(text)


@pytest.mark.parametrize(
    "text",
    [
        "services: {a: {image: redis}}",
        "services: [\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: x}]}",
        "apiVersion: v1\nkind: Service\n",
        'services:\n  a: {image: vllm/vllm-openai:v1, command: "--x \'y"}',
        "FROM python\nRUN echo 'x\n",
    ],
)
def test_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(FileContentError) as caught:
        every(text)
    assert "\n" not in str(caught.value)
