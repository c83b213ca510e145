"""The known errors of capturing and replaying CUDA graphs: what to look for, why, what to do.

Codes and names are those of the CUDA runtime; patterns are short identifiers of messages. What a
message means here can depend on what stands around it: that is core.diagnose's part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Rank(StrEnum):
    """Whether an error can be where the trouble began."""

    ROOT = "root cause"
    SIGN = "sign, no error"
    CONSEQUENCE = "follows from an earlier error"


@dataclass(frozen=True)
class Rule:
    """One kind of message.

    klass : name of the class; code : CUDA runtime error, where there is one
    """

    klass: str
    pattern: re.Pattern[str]
    cause: str
    remedy: str
    code: int | None = None
    rank: Rank = Rank.ROOT


def rule(
    klass: str,
    pattern: str,
    cause: str,
    remedy: str,
    code: int | None = None,
    rank: Rank = Rank.ROOT,
) -> Rule:
    """A rule from its words; case does not matter."""
    return Rule(klass, re.compile(pattern, re.IGNORECASE), cause, remedy, code, rank)


FORBIDDEN = rule(
    "forbidden_call",
    r"operation not permitted when stream is capturing|StreamCaptureUnsupported",
    "A call that may not run while a stream captures was made: a host synchronisation, an "
    "allocation outside the graph's pool, a module load, or any such call of another thread.",
    "Find the call in the traceback and move it before the capture; warm up at the same shapes "
    'first. If another thread made it, pause that thread or capture with mode "thread_local".',
    900,
)
INVALIDATED = rule(
    "earlier_error",
    r"failed due to a previous error during capture|StreamCaptureInvalidated",
    "The capture was broken before this call; the first error is not in this text.",
    "Look further up, in the logs of the other ranks and in other threads of the process for the "
    "first error. Discard the graph, and capture again in a fresh process.",
    901,
    Rank.CONSEQUENCE,
)
UNDERWAY = rule(
    "poisoned_process",
    r"captures_underway\.empty\(\)",
    "The allocator believes that a capture is still running: an earlier one failed and left it so, "
    "or memory was released or a second model loaded while another thread captured.",
    "Find the first failed capture, restart the process, and make no empty_cache, sleep, wake or "
    "load while capturing.",
    None,
    Rank.CONSEQUENCE,
)
GENERATOR_CALL = rule(
    "rng",
    r"Cannot call CUDAGeneratorImpl::\S+ during CUDA graph capture",
    "The generator was seeded, or its state saved, inside the captured region.",
    "Seed outside; turn off saving of the random state in activation checkpointing.",
)
COMPILE_IN_CAPTURE = rule(
    "compile_in_capture",
    GENERATOR_CALL.pattern.pattern,
    "torch.compile traced a function inside the capture, and saves the random state while it does: "
    "the function was not compiled before for this shape, or is marked for compiling by itself.",
    "Run the step once at the same shapes before the capture so that it is compiled by then, or "
    "leave torch.compile out of that function.",
)
CUBLAS = re.compile(r"CUBLAS_STATUS_NOT_INITIALIZED|hipblasLtCreate|cublasCreate", re.I)

RULES: tuple[Rule, ...] = (
    rule(
        "nccl_watchdog",
        r"watchdog.*(capturing|capture)",
        "The collective library's watchdog, another thread, queried an event of earlier "
        "collectives while a stream captured.",
        "Finish all collectives and synchronise before the capture; PyTorch 2.2 or newer no longer "
        "hands captured collectives to the watchdog.",
        900,
    ),
    FORBIDDEN,
    INVALIDATED,
    rule(
        "merged_captures",
        r"merge of separate capture sequences|StreamCaptureMerge",
        "A wait joined two captures that run at the same time, as of a draft and a target model.",
        "Let one process-wide lock allow one capture at a time, each with its own streams and "
        "events.",
        902,
    ),
    rule(
        "wrong_stream_end",
        r"was not ended in the same stream|StreamCaptureUnmatched|must end on the same stream",
        "The capture ended on another stream than it began on: the current stream changed inside.",
        "Begin and end on one stream; restore the current stream before the end, also on errors.",
        903,
    ),
    rule(
        "unjoined",
        r"capturing stream has unjoined work|StreamCaptureUnjoined",
        "A side stream was forked from the capture and never joined again: overlapped experts, "
        "communication or a prefetch copy without a last wait.",
        "Record an event on the side stream and let the capturing stream wait for it before the "
        "end, or turn the overlap off while capturing.",
        904,
    ),
    rule(
        "outside_dependency",
        r"dependency created on uncaptured work|StreamCaptureIsolation",
        "The capturing stream was told to wait for an event that was recorded outside the capture.",
        "Wait for outside work before the capture begins; inside, fork side streams from the "
        "capturing stream before their first use.",
        905,
    ),
    rule(
        "legacy_stream",
        r"legacy stream depend on a capturing|StreamCaptureImplicit",
        "Work was launched on the legacy default stream, which would wait for the capture: an "
        "extension that ignores the current stream, or a synchronous copy.",
        "Let the library launch on the current stream, and warm up on a side stream.",
        906,
    ),
    rule(
        "captured_event",
        r"event last recorded in a capturing stream|cudaErrorCapturedEvent",
        "An event that was recorded inside a capture was queried or timed.",
        "Do not query it; time with events outside the graph. A watchdog that does it: newer "
        "PyTorch.",
        907,
    ),
    rule(
        "wrong_thread",
        r"StreamCaptureWrongThread|capture.*(ended|end).*(another|different|wrong) thread",
        "The capture was ended by another thread than the one that began it.",
        "Begin and end in one thread, or capture in relaxed mode.",
        908,
    ),
    rule(
        "default_stream",
        r"must be captured on a non-default stream",
        "The capture was begun on the default stream.",
        "Use torch.cuda.graph(...), or make a side stream current first.",
    ),
    rule(
        "graph_reused",
        r"already owns a captured graph",
        "One graph object was captured twice.",
        "Make a new graph object, or reset() it first.",
    ),
    rule(
        "swallowed_failure",
        r"capture_end\(\) called before capture_begin|replay without a preceding successful",
        "The capture failed earlier and its exception was swallowed.",
        "Find where the exception is caught; keep no graph whose capture failed.",
    ),
    rule(
        "empty_graph",
        r"CUDA graph is empty",
        "Nothing was recorded: another device or stream was current, or a cache skipped the work.",
        "Check the current device and stream, and that the step launches kernels.",
        rank=Rank.SIGN,
    ),
    rule(
        "poisoned_process",
        r"Offset increment outside graph capture",
        "The random generator is still marked as capturing: an earlier capture failed, or the "
        "default generator is used eagerly while a graph holds it.",
        "Find the earlier failure and restart the process; sample with a generator of its own, "
        "outside the graph.",
        None,
        Rank.CONSEQUENCE,
    ),
    rule(
        "rng",
        r"philox_cuda_state for an unexpected CUDA generator",
        "An operation draws from a generator that is not registered with the graph.",
        "Use the default generator of the capturing device, or register the generator with the "
        "graph before the capture.",
    ),
    GENERATOR_CALL,
    rule(
        "h2d_copy",
        r"Cannot copy between CPU and CUDA tensors during CUDA graph capture",
        "A tensor in pageable host memory is created or moved inside the region.",
        "Allocate on the device before the capture and refill with copy_ before each replay; pin "
        "host memory before the capture and keep it alive.",
    ),
    UNDERWAY,
    rule(
        "pool_released",
        r"use_count > 0 INTERNAL ASSERT",
        "A graph pool was released with the last graph of it and then used again.",
        "Keep one live graph for a shared pool handle, and take a fresh handle after reset().",
    ),
    rule(
        "allocator_swapped",
        r"head->prev == nullptr && head->pool",
        "Blocks of a graph tree's pool were split by something else: a custom allocator or an "
        "offload hook.",
        "Do not change allocators while graph trees are in use.",
    ),
    rule(
        "output_overwritten",
        r"output of CUDAGraphs that has been overwritten",
        "The output of one replay was read after the next one had written the same memory.",
        "clone() it outside the compiled region before the next call; marking the beginning of a "
        "step does not keep old outputs.",
    ),
    rule(
        "too_many_graphs",
        r"observed \d+ distinct sizes|recording too many CUDAGraphs",
        "Every new shape records a graph of its own.",
        "Pad to a few buckets, or mark the dimension as dynamic.",
        rank=Rank.SIGN,
    ),
    rule(
        "graph_skipped",
        r"skipping cudagraphs due to",
        "The compiler made no graph, for the reason that stands in the line.",
        "Mend the named reason, or count these steps as eager.",
        rank=Rank.SIGN,
    ),
    rule(
        "version_mismatch",
        r"Unknown CUDA graph CaptureStatus",
        "PyTorch and the CUDA runtime library do not match.",
        "Align PyTorch, runtime and driver.",
    ),
    rule(
        "stream_limit",
        r"resource alloc fail|stream wait event failed|lack of streams",
        "The device's streams are used up: piecewise graphs take about layers x sizes of them.",
        "Capture fewer sizes, or full decode graphs only.",
    ),
    rule(
        "rank_exception_hidden",
        r"Registering 0 cuda graph addresses",
        "One rank failed while capturing; the others wait for it in the exchange of addresses.",
        "Read each rank's first exception; run with custom all-reduce off to see it.",
        rank=Rank.SIGN,
    ),
    rule(
        "all_reduce_memory",
        r"custom_all_reduce.*invalid argument|failed to get pointer attr",
        "Memory of expandable segments, sleep mode or a recycled temporary cannot be shared "
        "between ranks.",
        "Turn expandable segments or the custom all-reduce off; keep tensors alive until they are "
        "registered.",
    ),
    rule(
        "no_kv_memory",
        r"No available memory for the cache blocks",
        "What is left beside weights, activations and the estimate of the graphs holds no KV "
        "block; the estimate may be far above what the graphs really take.",
        "Capture fewer or smaller sizes; compare the estimate with the measured pool, and set the "
        "KV memory by the measured one.",
    ),
    rule(
        "truncated_maximum",
        r"Truncating max_cudagraph_capture_size",
        "The largest size is not on the engine's grid; steps between the two run eager.",
        "Add the exact maximum to the list of sizes.",
        rank=Rank.SIGN,
    ),
)

OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|CUDA out of memory|CUDA error: out of memory|torch\.OutOfMemory"
    r"|Not enough memory to handle \d+ \w+ tokens",
    re.I,
)
OOM_IN_CAPTURE = rule(
    "oom_in_capture",
    OUT_OF_MEMORY.pattern,
    "Memory ran out while graphs were captured: the KV cache took what they need.",
    "Lower the engine's memory share by the measured pool, or capture fewer or smaller sizes, "
    "largest first.",
)
OOM = rule(
    "oom_or_env",
    OUT_OF_MEMORY.pattern,
    "Memory ran out; nothing in the text says that a capture was running.",
    "Check free memory and other processes on the card.",
)
LAZY_INIT = rule(
    "lazy_init",
    CUBLAS.pattern,
    "The first matrix product of this handle, stream or type happened inside the capture; making "
    "the handle allocates.",
    "Warm up a matrix product for each type and path on the stream that captures, before it.",
)
NOT_INITIALISED = rule(
    "oom_or_env",
    CUBLAS.pattern,
    "Outside a capture this usually means that no memory is free, or that an index or an earlier "
    "error broke the device's state.",
    "Check free memory; run again with blocking launches (CUDA_LAUNCH_BLOCKING=1) to find the "
    "first error.",
)
OTHER_THREAD = rule(
    "other_thread",
    INVALIDATED.pattern.pattern,
    "Work of another thread fell into the capture: a second engine or model, a loader, a metrics "
    "call. The process is poisoned afterwards.",
    "Keep all other work off the GPU while capturing, and restart the process.",
    901,
)
