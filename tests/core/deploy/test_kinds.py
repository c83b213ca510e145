"""Each kind of deployment file: what it starts, by hand."""

from __future__ import annotations

import json

import pytest

from core.deploy.read import read_deployments
from core.errors import FileContentError
from tests.core.deploy.helpers import every, only, says, settings

EAGER8 = {"max_num_seqs": 8, "enforce_eager": True}


def all_say(text: str, **variables: str) -> list[tuple]:
    return [says(one) for one in every(text, **variables)]


# Compose ---------------------------------------------------------------------------------------

COMPOSE = """
services:
  x:
    image: vllm/vllm-openai:v0.20.1
    {command}
"""


@pytest.mark.parametrize(
    "command",
    [
        "command: --model m --max-num-seqs 8 --enforce-eager",
        "command: [--model, m, --max-num-seqs, '8', --enforce-eager]",
        'command: ["--model=m", "--max-num-seqs=8", "--enforce-eager"]',
        "command: m --max-num-seqs 8 --enforce-eager",
        "command: >\n      --model m\n      --max-num-seqs 8 --enforce-eager",
        "command: |\n      --model m \\\n      --max-num-seqs 8 \\\n      --enforce-eager",
        "entrypoint: vllm serve\n    command: m --max-num-seqs 8 --enforce-eager",
        "entrypoint: [vllm, serve]\n    command: [m, --max-num-seqs, 8, --enforce-eager]",
        'entrypoint: ["sh", "-c"]\n    command: ["vllm serve m --max-num-seqs 8 --enforce-eager"]',
        "entrypoint: bash -lc 'exec vllm serve m --max-num-seqs 8 --enforce-eager'",
        "command: --model m --max-num-seqs ${SEQS:-8} --enforce-eager",
        'environment: {SEQS: 8}\n    entrypoint: ["sh","-c","vllm serve m --max-num-seqs $$SEQS --enforce-eager"]',
        "environment: [SEQS=8]\n    entrypoint: ['sh','-c','vllm serve m --max-num-seqs $${SEQS:-4} --enforce-eager']",
    ],
)
def test_compose(command: str) -> None:
    """A command as text or list, with entrypoint, through a shell, with Compose's variables."""
    one = only(COMPOSE.format(command=command))
    assert says(one) == ("vllm", "0.20.1", EAGER8)
    assert (one.kind, one.name, one.unset, one.not_understood) == ("Compose", "x", (), ())


def test_compose_with_several_services() -> None:
    """One answer a service that runs an engine; the others are named with their image."""
    text = """
name: stack
x-common: &common
  image: lmsysorg/sglang:v0.5.9-cu128
services:
  prefill:
    <<: *common
    command: python3 -m sglang.launch_server --disable-cuda-graph
  decode:
    <<: *common
    command: python3 -m sglang.launch_server --cuda-graph-max-bs ${BS}
  router:
    image: lmsysorg/sglang-router:v0.2.0
    command: --worker-urls a b
  cache: {image: "redis:7"}
"""
    found = read_deployments(text)
    first, second = found.deployments
    assert says(first) == ("sglang", "0.5.9", {"disable_cuda_graph": True})
    assert (first.role, second.role) == ("prefill", "decode")
    assert says(second) == ("sglang", "0.5.9", {})
    assert second.unset == ("BS",)
    assert len(found.passed_over) == 2 and "redis" in found.passed_over[1]
    assert settings(every(text, BS="32")[1]) == {"cuda_graph_max_bs": 32}


def test_compose_configs_env_and_env_file() -> None:
    """A config written in the file is read; a file that is not there is said."""
    text = """
configs:
  c:
    content: |
      max-num-seqs: ${N:-4}
      enforce-eager: true
services:
  a:
    image: vllm/vllm-openai:latest
    configs: [{source: c, target: /etc/v.yaml}]
    env_file: .env
    command: --model m --config /etc/v.yaml --max-num-batched-tokens 64
  b:
    image: vllm/vllm-openai:v0.9.1
    command: --config /etc/other.yaml
"""
    first, second = every(text)
    wanted = {"max_num_seqs": 4, "enforce_eager": True, "max_num_batched_tokens": 64}
    assert settings(first) == wanted
    assert "env_file" in first.not_understood[0] and "latest" in first.no_release
    assert "/etc/other.yaml" in second.not_understood[0]


def test_tgi_reads_its_variables_and_the_flag_wins() -> None:
    """TGI takes settings from the environment; other engines' plain variables are none."""
    text = """
services:
  tgi:
    image: ghcr.io/huggingface/text-generation-inference:3.3.7
    environment: {CUDA_GRAPHS: "1,2,4", MAX_BATCH_SIZE: 4, HF_TOKEN: hf_secret}
    command: --max-batch-size 2
  v:
    image: vllm/vllm-openai:v0.19.1
    environment: {MAX_NUM_SEQS: 5, VLLM_USE_V2_MODEL_RUNNER: "0"}
    command: --max-num-seqs 8
"""
    tgi, vllm = every(text)
    assert says(tgi) == ("tgi", "3.3.7", {"cuda_graphs": (1, 2, 4), "max_batch_size": 2})
    assert "hf_secret" not in tgi.text
    assert settings(vllm) == {"max_num_seqs": 8, "runner": "v1"}


# Kubernetes ------------------------------------------------------------------------------------

POD = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  template:
    spec:
      initContainers: [{{name: get, image: vllm/vllm-openai:v0.1, command: [vllm, serve]}}]
      containers:
      - name: server
        image: {image}
        env:
        - {{name: SEQS, value: "8"}}
        - {{name: TOKEN, valueFrom: {{secretKeyRef: {{name: a, key: b}}}}}}
        livenessProbe: {{exec: {{command: [vllm, serve]}}}}
        {rest}
"""


@pytest.mark.parametrize(
    "rest",
    [
        "args: [--model, m, --max-num-seqs, '8', --enforce-eager]",
        "command: [vllm, serve]\n        args: [m, --max-num-seqs, $(SEQS), --enforce-eager]",
        'command: ["sh", "-c"]\n        args: ["vllm serve m --max-num-seqs 8 --enforce-eager"]',
        'command: ["/bin/bash", "-c", "vllm serve m --max-num-seqs $SEQS --enforce-eager"]',
        'command: ["sh", "-c", "vllm serve m --max-num-seqs ${SEQS:-2} --enforce-eager --api-key $TOKEN"]',
        "command:\n        - /bin/sh\n        - -ec\n        - |\n          pip list\n          exec vllm serve m \\\n"
        "            --max-num-seqs 8 --enforce-eager",
    ],
)
def test_kubernetes(rest: str) -> None:
    """args, command, sh -c, with the container's own variables; probes are not commands."""
    one = only(POD.format(name="v", image="vllm/vllm-openai:v0.19.1", rest=rest))
    assert says(one) == ("vllm", "0.19.1", EAGER8)
    assert (one.kind, one.name, one.unset) == ("Kubernetes", "v/server", ())


def test_kubernetes_with_several_documents() -> None:
    """One answer a container, in order; documents without containers say nothing."""
    first = POD.format(
        name="q-prefill", image="vllm/vllm-openai:v0.19.1", rest="args: [--max-num-seqs, '4']"
    )
    second = POD.format(
        name="q-decode",
        image="lmsysorg/sglang:v0.5.8",
        rest="command: [python3, -m, sglang.launch_server]",
    )
    text = f"{first}---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\n---{second}"
    assert all_say(text) == [
        ("vllm", "0.19.1", {"max_num_seqs": 4}),
        ("sglang", "0.5.8", {}),
    ]
    assert [one.role for one in every(text)] == ["prefill", "decode"]
    listed = {"apiVersion": "v1", "kind": "List", "items": []}
    import yaml

    listed["items"] = [d for d in yaml.safe_load_all(text) if d]
    assert all_say(json.dumps(listed)) == all_say(text)


def test_config_map_as_script_and_as_settings() -> None:
    """A script and a config file in a ConfigMap, and variables from it."""
    text = """
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  start.sh: |
    vllm serve m --config /etc/conf/vllm.yaml --max-num-seqs $SEQS
  vllm.yaml: "enforce-eager: true"
  SEQS: "8"
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: l}
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        containers:
        - name: leader
          image: vllm/vllm-openai:v0.19.1
          envFrom: [{configMapRef: {name: c}}]
          command: [bash, /scripts/start.sh]
"""
    assert says(only(text)) == ("vllm", "0.19.1", EAGER8)


def test_custom_resources() -> None:
    """KServe's model and Dynamo's mainContainer hold args as containers do."""
    text = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: k}
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      args: [--max-num-seqs=8]
      image: vllm/vllm-openai:v0.19.1
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: d}
spec:
  services:
    DecodeWorker:
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.0
          command: [python3, -m, dynamo.vllm]
          args: [--model, m, --max-num-seqs, "4"]
"""
    first, second = every(text)
    assert says(first) == ("vllm", "0.19.1", {"max_num_seqs": 8})
    assert says(second) == ("vllm", None, {"max_num_seqs": 4})
    assert second.role == "decode"


def test_a_script_that_is_not_in_the_file_is_said() -> None:
    """The image tells the engine; what the script sets is not known."""
    one = only(
        POD.format(name="v", image="vllm/vllm-openai:v0.19.1", rest="command: [/run/start.sh]")
    )
    assert settings(one) == {}
    assert "/run/start.sh" in one.not_understood[0]


def test_a_helm_template_leaves_its_values_open() -> None:
    """Expressions are variables; lines that hold nothing else are named."""
    text = POD.format(
        name="{{ .Release.Name }}",
        image="vllm/vllm-openai:v0.19.1",
        rest="args: [--max-num-seqs, '{{ .Values.seqs }}', --enforce-eager]\n        {{- toYaml .Values.x }}",
    )
    found = read_deployments(text)
    (one,) = found.deployments
    assert says(one) == ("vllm", "0.19.1", {"enforce_eager": True})
    assert one.unset == ("{{ .Values.seqs }}",)
    assert "toYaml" in found.passed_over[0]


# Helm values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "image: {repository: vllm/vllm-openai, tag: v0.19.1}\n"
        "command: [vllm, serve, m, --max-num-seqs, '8', --enforce-eager]",
        "image:\n  repository: vllm/vllm-openai\n  tag: v0.19.1\n"
        "  command: [vllm, serve, m, --max-num-seqs, '8', --enforce-eager]\nreplicaCount: 1",
        "vllm:\n  image: vllm/vllm-openai:v0.19.1\n  extraArgs: --max-num-seqs 8 --enforce-eager",
        "servingEngineSpec:\n  modelSpec:\n  - name: a\n    repository: vllm/vllm-openai\n    tag: v0.19.1\n"
        "    vllmConfig: {maxNumSeqs: 8, enforceEager: true}",
        "servingEngineSpec:\n  modelSpec:\n  - name: a\n    repository: vllm/vllm-openai\n    tag: v0.19.1\n"
        "    vllmConfig: {maxNumSeqs: 8, extraArgs: ['--enforce-eager']}",
    ],
)
def test_helm_values(text: str) -> None:
    """Charts differ in where image, tag, command and settings stand."""
    one = only(text)
    assert says(one) == ("vllm", "0.19.1", EAGER8)
    assert one.kind == "Helm values"


def test_helm_values_by_role() -> None:
    """The image above holds for both; the chart's own command is not known, and that is said."""
    text = """
image: {repository: lmsysorg/sglang, tag: v0.5.8-cu128}
prefill: {replicas: 1, extraArgs: [--disable-cuda-graph]}
decode:
  containers:
  - name: main
    args: [--cuda-graph-max-bs, "32"]
"""
    first, second = every(text)
    assert says(first) == ("sglang", "0.5.8", {"disable_cuda_graph": True})
    assert says(second) == ("sglang", "0.5.8", {"cuda_graph_max_bs": 32})
    assert (first.role, second.role) == ("prefill", "decode")
    assert "chart" in first.not_understood[0]


# Role sections ---------------------------------------------------------------------------------


def test_role_sections() -> None:
    """Prefill and decode apart."""
    text = "decode: {max-num-seqs: 8, enforce-eager: true}\nprefill: {max-num-seqs: 2}\n"
    assert all_say(text) == [("vllm", None, EAGER8), ("vllm", None, {"max_num_seqs": 2})]
    assert [one.role for one in every(text)] == ["decode", "prefill"]


def test_role_sections_of_other_frameworks() -> None:
    """Below the engine's name, with shared settings, and TensorRT-LLM's two kinds of servers."""
    text = """
backend:
  sglang_config:
    prefill: {disable-cuda-graph: true, tp-size: 4}
    decode: {cuda-graph-bs: [1, 2, 4], max-running-requests: 4}
"""
    assert all_say(text) == [
        ("sglang", None, {"disable_cuda_graph": True, "tp_size": 4}),
        ("sglang", None, {"cuda_graph_bs": (1, 2, 4), "max_running_requests": 4}),
    ]
    text = """
image: vllm/vllm-openai:v0.19.1
common: {max-num-batched-tokens: 64}
decode_worker: {engine_args: {max-num-seqs: 8}}
"""
    wanted = {"max_num_batched_tokens": 64, "max_num_seqs": 8}
    assert all_say(text) == [("vllm", "0.19.1", wanted)]
    text = """
context_servers: {num_instances: 1, max_batch_size: 2}
generation_servers:
  max_batch_size: 64
  cuda_graph_config: {enable_padding: true, batch_sizes: [1, 2]}
"""
    first, second = every(text)
    assert says(first) == ("trtllm", None, {"max_batch_size": 2})
    wanted = {"max_batch_size": 64, "enable_padding": True, "batch_sizes": (1, 2)}
    assert says(second) == ("trtllm", None, wanted)


def test_keys_that_several_engines_have_need_the_engine() -> None:
    """max_num_tokens is TensorRT-LLM's alone; a key of nobody is asked about."""
    assert only("prefill: {max_num_tokens: 8}").engine == "trtllm"
    with pytest.raises(FileContentError, match="--engine"):
        every("prefill: {some-key: 8}")
    assert settings(only("decode: {max_num_seqs: 8}", "fastdeploy")) == {"max_num_seqs": 8}


# Shell -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --max-num-seqs 8 --enforce-eager",
        '#!/bin/bash\nARGS=(--max-num-seqs 8)\nARGS+=(--enforce-eager)\nvllm serve m "${ARGS[@]}"',
        "MAX=${MAX_SEQS:-8}\nexec vllm serve m --max-num-seqs $MAX --enforce-eager 2>&1 | tee x",
        "B=4\nnohup vllm serve m --max-num-seqs=$((B * 2)) --enforce-eager > log &",
        "cat > c.yaml <<EOF\nmax-num-seqs: 8\nenforce-eager: true\nEOF\nvllm serve m --config c.yaml",
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
    assert settings(first) == {"disable_cuda_graph": True}
    assert second.unset == ("BS",)
    assert "$ROLE" in first.not_understood[0] and "not" in second.not_understood[0]
    assert settings(every(text, BS="4")[1]) == {"cuda_graph_max_bs": 4}
    assert settings(only(text, ROLE="prefill")) == {"disable_cuda_graph": True}


def test_a_flag_that_depends_is_said_and_not_read() -> None:
    """The script's own arguments may hold flags too."""
    text = 'A=(--max-num-seqs 8)\n[ -n "$EAGER" ] && A+=(--enforce-eager)\nvllm serve $1 "${A[@]}" "$@"'
    one = only(text)
    assert settings(one) == {"max_num_seqs": 8}
    assert one.unset == ("@",)
    assert "--enforce-eager" in one.not_understood[0] and "EAGER" in one.not_understood[0]
    assert settings(only(text, EAGER="1")) == EAGER8


def test_installed_release_and_secret() -> None:
    """pip tells the release; a key is not kept."""
    one = only("pip install vllm==0.19.1\nvllm serve m --api-key sk-1 --max-num-seqs 8")
    assert says(one) == ("vllm", "0.19.1", {"max_num_seqs": 8})
    assert "sk-1" not in one.text


# systemd ---------------------------------------------------------------------------------------

UNIT = "[Unit]\nDescription=LLM\n[Service]\n{lines}\n[Install]\nWantedBy=multi-user.target\n"


@pytest.mark.parametrize(
    "lines",
    [
        "ExecStart=/opt/v/bin/vllm serve m --max-num-seqs 8 --enforce-eager",
        "Environment=SEQS=8\nExecStart=vllm serve m \\\n  --max-num-seqs ${SEQS} \\\n# note\n  --enforce-eager",
        'Environment="OPTS=--max-num-seqs 8 --enforce-eager" X=1\nExecStart=-vllm serve m $OPTS',
        "ExecStart=\nExecStart=/bin/sh -c 'exec vllm serve m --max-num-seqs 8 --enforce-eager'",
        "ExecStart=/usr/bin/docker run --rm --name x vllm/vllm-openai --model m --max-num-seqs 8 --enforce-eager",
    ],
)
def test_systemd(lines: str) -> None:
    """Environment, joined lines, prefixes, a shell and docker in ExecStart."""
    one = only(UNIT.format(lines=lines))
    assert says(one) == ("vllm", None, EAGER8)


def test_quadlet_and_an_environment_file() -> None:
    """A quadlet's Image and Exec; a file of variables that is not here is said."""
    text = "[Container]\nImage=docker.io/vllm/vllm-openai:v0.19.1\nExec=--model m --max-num-seqs $N\nEnvironmentFile=-/etc/v\n"
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
        'COPY <<EOF /run.sh\nvllm serve m --max-num-seqs 8 --enforce-eager\nEOF\nCMD ["bash", "/run.sh"]',
        'RUN echo \'max-num-seqs: 8\' > /c.yaml\nCMD ["m", "--config", "/c.yaml", "--enforce-eager"]',
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
        "name: a\nsetup: |\n  uv pip install vllm==0.19.1\n  cat > c.yaml <<EOF\n  max-num-seqs: 8\n  EOF\n"
        "run: vllm serve m --config c.yaml --enforce-eager\n".replace("\n  EOF", "\n  EOF"),
        "resources: {image_id: 'docker:vllm/vllm-openai:v0.19.1'}\n"
        "run: python -m vllm.entrypoints.openai.api_server --max-num-seqs 8 --enforce-eager\n",
        "resources: {cpus: 4}\nrun: |\n  docker run vllm/vllm-openai:v0.19.1 --max-num-seqs $((2 * 4)) --enforce-eager\n",
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


# Plain configurations and nothing --------------------------------------------------------------


def test_plain_configurations_stay_what_they_are() -> None:
    """A log and settings alone are no deployment; their engine is told by words or keys."""
    log = "INFO 04-23 11:34:24 Capturing CUDA graph shapes: 100%|##| 35/35\n+ vllm serve m 'x\n"
    assert (only(log).kind, only(log).engine) == ("", "vllm")
    flags = "--max-num-seqs 8 --enforce-eager"
    assert (only(flags, "vllm").kind, only(flags).engine) == ("", None)
    assert only("cuda_graph_config: {batch_sizes: [1]}").engine == "trtllm"
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
