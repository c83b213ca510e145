"""The settings of vLLM that change what it captures."""

from __future__ import annotations

from core.engines.settings import choice, number, size_list, switch, text, whole

MODES = ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
SUPPORT = ("always", "uniform_batch", "uniform_single_token_decode", "never")

SETTINGS = (
    whole(
        "max_num_seqs", None, "Requests in a step at most; unset, chosen from the card's memory."
    ),
    whole("max_num_batched_tokens", None, "Tokens in a step at most; unset, chosen likewise."),
    whole("num_speculative_tokens", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    size_list("cudagraph_capture_sizes", "Your own list of capture sizes, in tokens."),
    whole("max_cudagraph_capture_size", None, "Largest capture size of the built-in grid."),
    number("gpu_memory_gib", 80.0, "Memory of the card [GiB]; decides unset limits.", minimum=1),
    number("compute_capability", 9.0, "10.x raises the cap from 512 to 1024.", minimum=1),
    text("gpu_name", "", "A100 and GB10 have smaller default limits."),
    whole("tensor_parallel_size", 1, "Cards that share each layer."),
    whole("data_parallel_size", 1, "Replicas that step together."),
    choice("cudagraph_mode", None, MODES, "Which graphs are captured; unset, the release decides."),
    whole("optimization_level", 2, "-O0 no graphs, -O1 piecewise, -O2 and -O3 both.", minimum=0),
    switch("enforce_eager", "Capture nothing."),
    choice(
        "performance_mode",
        "balanced",
        ("balanced", "interactivity", "throughput"),
        "interactivity captures every size to 32; throughput doubles unset limits (0.17 on).",
    ),
    choice("runner", "auto", ("auto", "v0", "v1", "v2"), "The model runner, as the log names it."),
    choice("attention_support", "always", SUPPORT, "What the attention backend can capture."),
    choice(
        "model_kind",
        "decoder",
        ("decoder", "pooling", "encoder-decoder"),
        "pooling forces piecewise graphs, encoder-decoder full decode graphs.",
    ),
    switch("layerwise_kv_connector", "A KV connector that works layer by layer."),
    switch("enable_lora", "Serve LoRA adapters."),
    whole("max_loras", 1, "Adapters in a step at most."),
    switch("cudagraph_specialize_lora", "Capture with and without adapters.", default=True),
    switch("specialize_active_lora", "Capture for each number of active adapters."),
    switch("enable_sp", "Sequence parallelism (pass_config.enable_sp, gone in 0.32)."),
    whole("mamba_cache_blocks", None, "State blocks of a hybrid Mamba model."),
    whole("hidden_size", None, "Hidden size of the model; decides enable_sp from 0.17 on."),
    whole("num_layers", None, "Layers of the model; a piecewise size is layers + 1 graph objects."),
    switch("offline", "The offline LLM class instead of the server."),
    switch("gpt_oss", "A gpt-oss model: a list of its own from 0.10.2 on."),
    switch("mixture_of_experts", "A mixture-of-experts model: the first runner to 0.28."),
)
