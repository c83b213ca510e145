"""Compose, Kubernetes, Helm values and role sections: what they start, by hand."""

from __future__ import annotations

import json

import pytest
import yaml

from core.deploy.read import read_deployments
from core.errors import FileContentError
from tests.core.deploy.helpers import EAGER8, all_say, every, only, says, settings

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
        "environment: {SEQS: 8}\n    "
        'entrypoint: ["sh","-c","vllm serve m --max-num-seqs $$SEQS --enforce-eager"]',
        "environment: [SEQS=8]\n    "
        "entrypoint: ['sh','-c','vllm serve m --max-num-seqs $${SEQS:-4} --enforce-eager']",
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
        'command: ["sh", "-c", "vllm serve m --max-num-seqs ${SEQS:-2} '
        '--enforce-eager --api-key $TOKEN"]',
        "command:\n        - /bin/sh\n        - -ec\n        - |\n          pip list\n"
        "          exec vllm serve m \\\n"
        "            --max-num-seqs 8 --enforce-eager",
    ],
)
def test_kubernetes(rest: str) -> None:
    """args, command, sh -c, with the container's own variables; probes are not commands."""
    one = only(POD.format(name="v", image="vllm/vllm-openai:v0.19.1", rest=rest))
    assert says(one) == ("vllm", "0.19.1", EAGER8)
    assert (one.kind, one.name, one.unset) == ("Kubernetes", "v/server", ())


def test_what_the_kubelet_cannot_fill_in() -> None:
    """Without a shell it is asked for by name; in one it is a command, which is not run."""
    plain = POD.format(
        name="v", image="vllm/vllm-openai:v0.19.1", rest="args: [--max-num-seqs, $(N)]"
    )
    assert only(plain).unset == ("N",)
    assert settings(only(plain, N="4")) == {"max_num_seqs": 4}
    shell = plain.replace("args: [", "command: [bash, -c, 'vllm serve m ").replace(
        "(N)]", "(nproc)']"
    )
    assert only(shell.replace("--max-num-seqs,", "--max-num-seqs")).unset == ("$(nproc)",)


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
        rest="args: [--max-num-seqs, '{{ .Values.seqs }}', --enforce-eager]\n"
        "        {{- toYaml .Values.x }}",
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
        "decode:\n  containers:\n  - modelCommand: vllmServe\n    image: vllm/vllm-openai:v0.19.1\n"
        "    args: [--max-num-seqs, '8', --enforce-eager]",
        "vllm:\n  image: vllm/vllm-openai:v0.19.1\n  extraArgs: --max-num-seqs 8 --enforce-eager",
        "servingEngineSpec:\n  modelSpec:\n  - name: a\n    repository: vllm/vllm-openai\n"
        "    tag: v0.19.1\n"
        "    vllmConfig: {maxNumSeqs: 8, enforceEager: true}",
        "servingEngineSpec:\n  modelSpec:\n  - name: a\n    repository: vllm/vllm-openai\n"
        "    tag: v0.19.1\n"
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


def test_a_worker_beside_the_roles_is_read_by_its_keys() -> None:
    """A section that is no role is an answer where its keys are an engine's, else it is named."""
    text = """
Common: {model: m}
VllmWorker: {max-num-seqs: 8, enforce-eager: true}
PrefillWorker: {max-num-seqs: 2}
Frontend: {port: 80}
"""
    found = read_deployments(text)
    assert [says(one)[2] for one in found.deployments][:2] == [EAGER8, {"max_num_seqs": 2}]
    assert [one.role for one in found.deployments][:2] == ["", "prefill"]


def test_keys_that_several_engines_have_need_the_engine() -> None:
    """max_num_tokens is TensorRT-LLM's alone; a key of nobody is asked about."""
    assert only("prefill: {max_num_tokens: 8}").engine == "trtllm"
    with pytest.raises(FileContentError, match="--engine"):
        every("prefill: {some-key: 8}")
    assert settings(only("decode: {max_num_seqs: 8}", "fastdeploy")) == {"max_num_seqs": 8}
