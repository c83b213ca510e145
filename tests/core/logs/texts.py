"""Logs for these tests: real start-up logs, and messages as other engines print them."""

from __future__ import annotations

from tests.conftest import DATA

REAL = {
    f"vllm {path.stem}": path.read_bytes().decode()
    for path in sorted((DATA / "engine_logs").glob("*.log"))
}

SGLANG = """\
[2026-05-28 22:50:01] server_args=ServerArgs(model_path='m', tp_size=2, disable_cuda_graph=False, \
max_running_requests=None, decode_log_interval=40)
[2026-05-28 22:52:30 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail \
mem=62.10 GB, mem usage=14.99 GB.
[2026-05-28 22:52:31 TP0] KV Cache is allocated. #tokens: 412345, K size: 25.17 GB, V size: 25.17 GB
[2026-05-28 22:52:31 TP0] Memory pool end. avail mem=11.90 GB
[2026-05-28 22:52:31 TP0] Capture cuda graph begin. This can take up to several minutes. avail \
mem=11.90 GB
[2026-05-28 22:52:31 TP0] Capture cuda graph bs [1, 2, 4, 8]
Capturing batches (bs=8 avail_mem=11.88 GB):   0%|          | 0/4 [00:00<?, ?it/s]\rCapturing \
batches (bs=1 avail_mem=11.45 GB): 100%|##########| 4/4 [00:02<00:00,  1.52it/s]
[2026-05-28 22:52:34 TP0] Capture cuda graph end. Time elapsed: 2.75 s. mem usage=0.46 GB. avail \
mem=11.44 GB.
[2026-05-28 22:52:34 TP0] max_total_num_tokens=412345, chunked_prefill_size=8192, \
max_prefill_tokens=16384, max_running_requests=2049, context_len=4096, available_gpu_mem=11.44 GB
[2026-05-28 22:54:01 TP0] Decode batch. #running-req: 3, #token: 120, token usage: 0.01, cuda \
graph: True, gen throughput (token/s): 412.50, #queue-req: 0
[2026-05-28 22:54:09 TP0] Decode batch. #running-req: 5, #token: 220, token usage: 0.01, cuda \
graph: True, gen throughput (token/s): 612.50, #queue-req: 0
"""

TGI = """\
INFO text_generation_launcher: Using default cuda graphs [1, 2, 4, 8, 16, 32]
INFO text_generation_launcher: KV-cache blocks: 45671, size: 1
INFO text_generation_launcher: Cuda Graphs are enabled for sizes [32, 16, 8, 4, 2, 1]
Total memory used for CUDA graphs: 236.00 MB
"""

OLD_VLLM = """\
INFO 04-23 11:34:20 [llm_engine.py:241] Initializing a V0 LLM engine (v0.8.4) with config: \
model='m', tensor_parallel_size=2, enforce_eager=False, max_seq_len=8192, \
compilation_config={"level":0,"cudagraph_capture_sizes":[8,4,2,1],"max_capture_size":8}
INFO 04-23 11:34:24 [model_runner.py:1434] Capturing cudagraphs for decoding. This may lead to \
unexpected consequences if the model is not static. To run the model in eager mode, set \
'enforce_eager=True' or use '--enforce-eager' in the CLI. If out-of-memory error occurs during \
cudagraph capture, consider decreasing `gpu_memory_utilization` or switching to eager mode.
Capturing CUDA graph shapes:   0%|          | 0/4 [00:00<?, ?it/s]\rCapturing CUDA graph shapes: \
100%|##########| 4/4 [00:01<00:00,  3.30it/s]
INFO 04-23 11:34:44 [model_runner.py:1592] Graph capturing finished in 20 secs, took 0.55 GiB
"""

MEMORY = """\
(EngineCore pid=168) WARNING 05-14 08:25:39 [compilation.py:1390] CUDAGraphMode.FULL_AND_PIECEWISE \
is not supported with spec-decode for attention backend FlashInferBackend (support: \
AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE
(EngineCore pid=168) INFO 05-14 08:25:39 [gpu_model_runner.py:5963] Profiling CUDA graph memory: \
PIECEWISE=11 (largest=64), FULL=7 (largest=32)
(EngineCore pid=168) INFO 05-14 08:25:41 [gpu_model_runner.py:6042] Estimated CUDA graph memory: \
-0.90 GiB total
(EngineCore pid=168) INFO 05-14 08:25:59 [gpu_model_runner.py:6099] CUDA graph pool memory: 0.31 \
GiB (actual), 3.05 GiB (estimated)
"""

TRTLLM = """\
[11/30/2026-12:00:00] [TRT-LLM] [I] max_seq_len=4096, max_num_requests=64, max_num_tokens=8192, \
max_batch_size=64
[11/30/2026-12:00:01] [TRT-LLM] [I] max tokens in paged KV cache (45120)
[11/30/2026-12:00:02] [TRT-LLM] [I] Creating CUDA graph instances for 2 batch sizes.
[11/30/2026-12:00:02] [TRT-LLM] [I] Run generation only CUDA graph warmup for batch size=8, \
draft_len=0
[11/30/2026-12:00:03] [TRT-LLM] [I] Run generation only CUDA graph warmup for batch size=4, \
draft_len=0
"""

EVERY = {
    **REAL,
    "vllm old": OLD_VLLM,
    "vllm memory": MEMORY,
    "sglang": SGLANG,
    "tgi": TGI,
    "trtllm": TRTLLM,
}
"""Logs by "engine name": the first word is the engine."""

PREFIXES = {
    "nothing": "",
    "compose": "svc-1  | ",
    "compose name": "my_vllm.1.abc@host | ",
    "pod": "[pod/x/y] ",
    "stern": "ns pod-0 container ",
    "one word": "container ",
    "journal": "May 28 22:54:01 host svc[123]: ",
    "journal iso": "2026-05-28T22:54:01+0000 host svc[123]: ",
    "syslog": "<14>1 2026-05-28T22:54:01.003Z host app 77 - - ",
    "quote": "> ",
    "quotes": "> > ",
    "container time": "2026-05-28T22:54:01.123456789Z stderr F ",
    "desktop": "2026-05-28 22:54:01.839 | ",
    "cloud": "2026-05-28T22:54:01.123Z\t",
    "process": "(EngineCore pid=188) ",
    "ray": "(RayWorkerWrapper pid=77, ip=10.0.0.2) ",
    "rank": "[rank0]: ",
    "mpi": "[1,0]<stdout>:",
    "colour": "\x1b[1;36m(APIServer pid=1)\x1b[0;0m ",
    "colour as text": "#033[32mINFO#033[0m ",
    "level": "INFO ",
    "logging": "2026-05-28 22:54:01,123 - launcher - INFO - ",
}


def prefixed(text: str, prefix: str) -> str:
    """The prefix before every line; a bar's updates are one line."""
    return "".join(f"{prefix}{line}\n" for line in text.split("\n")[:-1])
