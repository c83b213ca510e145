"""Failures below Python, of kernels and of collectives: what to look for, why, what to do.

Numbers are those of the CUDA runtime; after one of 700 to 719 the process can no longer use the
device, so what fails later in it follows from the first.
"""

from __future__ import annotations

from core.failures.capture_errors import RULES, Rank, Rule, rule

_ASYNC = (
    "Launches are asynchronous, so the stack may show a later call than the one that failed: run "
    "eagerly with CUDA_LAUNCH_BLOCKING=1; where it fails only with graphs, switch layers off one "
    "by one."
)

NATIVE_RULES: tuple[Rule, ...] = (
    rule(
        "illegal_memory_access",
        r"illegal memory access was encountered|cudaErrorIllegalAddress|ERROR_ILLEGAL_ADDRESS",
        "A kernel read or wrote memory that is not its own. With graphs: an address that was "
        "recorded and is freed or moved by the time of the replay, or a shape that no graph holds.",
        _ASYNC,
        700,
    ),
    rule(
        "device_assert",
        r"device-side assert triggered|cudaErrorAssert\b|CUDA_ERROR_ASSERT",
        "A kernel checked an index or a value and stopped: an index out of range is the usual one, "
        "as of a padded row, a block table or a token beyond the vocabulary.",
        "Read the kernel's own assertion line above; run eagerly with CUDA_LAUNCH_BLOCKING=1 at "
        "the same padded size.",
        710,
    ),
    rule(
        "illegal_instruction",
        r"illegal instruction was encountered|cudaErrorIllegalInstruction"
        r"|ERROR_ILLEGAL_INSTRUCTION",
        "A kernel ran an instruction that this card does not have, or its code was overwritten: "
        "often a kernel that was built for another architecture.",
        "Check that the kernel library is built for this card, then switch its layer off.",
        715,
    ),
    rule(
        "misaligned_address",
        r"misaligned address|cudaErrorMisalignedAddress|ERROR_MISALIGNED_ADDRESS",
        "A kernel read memory at an address that does not fit its vector width.",
        _ASYNC,
        716,
    ),
    rule(
        "launch_failure",
        r"unspecified launch failure|cudaErrorLaunchFailure|CUDA_ERROR_LAUNCH_FAILED",
        "A kernel ended in a way that the driver cannot name: a bad address in shared or local "
        "memory is the usual one.",
        _ASYNC,
        719,
    ),
    rule(
        "nccl_capture",
        r"NCCL.{0,200}(?:cannot|can't|can not|not) be captured"
        r"|NCCL.{0,200}does not support.{0,200}(?:captur|graph)"
        r"|NCCL.{0,200}(?:older|too old|newer|or later|at least).{0,200}(?:captur|graph)"
        r"|(?:captur|graph).{0,200}NCCL.{0,200}(?:older|too old|newer|or later|at least)",
        "The NCCL that was loaded, or its driver, cannot be captured in a graph.",
        "Look which NCCL is loaded (torch.cuda.nccl.version(), NCCL_DEBUG=VERSION) and bring it, "
        "and the driver, up to date.",
    ),
    rule(
        "nccl_error",
        r"ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError"
        r"|ncclInvalidUsage|NCCL error(?: in)?:",
        "A collective failed; the lines of NCCL tell which call of it.",
        "Run with NCCL_DEBUG=INFO and read the first warning of each rank; a failed malloc there "
        "is a card without free memory.",
    ),
    rule(
        "collective_timeout",
        r"RPC call to \S+ timed out|Watchdog caught collective operation timeout"
        r"|milliseconds before timing out|collective.{0,200}timed out",
        "A rank never came to the collective that the others wait in: it failed, runs eagerly "
        "where the others replay, or waits for another collective.",
        "Read every rank's log for its first error. Without one, take the stacks of all ranks "
        "while they hang (py-spy dump); ranks at different calls chose different graphs.",
    ),
    rule(
        "waiting_for_a_rank",
        r"No available (?:shared memory broadcast )?block found in",
        "A process waits for another one, which may be busy, idle or hanging.",
        "No error by itself: look what the other processes did at that time.",
        rank=Rank.SIGN,
    ),
    rule(
        "attention_workspace",
        r"Buffer overflow when allocating memory for|workspace\w*.{0,200}(?:overflow|too small"
        r"|not large enough|insufficient)|(?:insufficient|not enough) workspace",
        "The attention kernel's work buffer is too small for this shape. It was sized for another "
        "number of requests, heads or splits.",
        "Enlarge the buffer before any graph is captured, since graphs keep its address, or "
        "capture smaller sizes; else choose another attention backend.",
    ),
    rule(
        "size_above_limit",
        r"Data too large for buffer '?\w+'?: \d+ ?> ?\d+",
        "More rows were given than the captured buffer holds; the line names the buffer, the size "
        "and the limit.",
        "Capture up to the size asked for, or hold batches below the limit of the buffer.",
    ),
    rule(
        "segmentation_fault",
        r"Segmentation fault|Segfault encountered|\bSIGSEGV\b|died with signal 11|signal 11\b",
        "Native code of the process read or wrote memory that is not its own; the native stack "
        "names the library.",
        "Read the stack's innermost named library and switch its layer off; PYTHONFAULTHANDLER=1 "
        "adds the Python stack.",
    ),
    rule(
        "engine_ended",
        r"EngineDeadError|EngineCore encountered an issue|Engine core initialization failed",
        "The serving process only says that the engine's process ended; the reason stands in that "
        "process's lines.",
        "Give the log of the engine's processes from their start, of every rank.",
        None,
        Rank.CONSEQUENCE,
    ),
    rule(
        "capture_failed",
        r"cuda ?graph warm-?up failed",
        "The engine gave up capturing.",
        "The exception below this line is the reason.",
        rank=Rank.SIGN,
    ),
)

STICKY_CODES = frozenset((700, 710, 715, 716, 719))
"""After one of these every later call of the process fails."""
FOLLOWERS = frozenset(
    (
        *("nccl_error", "collective_timeout", "oom_or_env", "lazy_init", "nccl_watchdog"),
        *("illegal_memory_access", "launch_failure", "segmentation_fault"),
    )
)
"""What a broken device or a lost rank brings about later."""
BY_CODE: dict[int, Rule] = {
    known.code: known
    for known in reversed((*RULES, *NATIVE_RULES))
    if known.code is not None and known.klass != "nccl_watchdog"
}
NATIVE_CLASSES = frozenset(
    known.klass for known in NATIVE_RULES if known.rank is Rank.ROOT
) - frozenset(("size_above_limit", "nccl_capture"))
"""Classes whose message does not name the layer at fault, so that it has to be searched for."""
