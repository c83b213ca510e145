"""Names of the scalars, and the constants, of the loop."""

(
    NOW,  # clock [ticks]
    BLOCK,  # tokens of a KV block
    BLOCKS,  # KV blocks in all
    FREE,  # KV blocks not held
    PEAK,  # most blocks held
    MAX_SEQS,
    BUDGET,
    SEPARATE,
    WHOLE_PROMPT,
    DRAFTS,
    EMIT_NUMERATOR,  # tokens a decode step emits, as a fraction
    EMIT_DENOMINATOR,
    CONTEXT_TICKS,  # a decode step's time for each token of context
    MIXED_CONTEXT_TICKS,  # the same of a step with prefill
    PAIR_TICKS,  # for each token that a prompt token attends to
    PROMPT_TICKS,  # for each prompt in a step
    MIXED_ROW_TICKS,  # for each request that decodes in a step with prefill, beside its floor
    SINGLE,  # whether runs of steps are not merged
    COUNT,  # requests in all
    CLOSED,  # requests kept in flight; 0: arrivals are given
    RELEASED,  # closed loop: requests that have arrived
    NEXT,  # first request never admitted
    SEEN,  # first request not arrived
    DONE,
    STACKED,  # preempted requests that wait
    ENDING,  # prefills that end in this step
    CHUNKS,  # prompts in the last step
    PAIRS,  # tokens their tokens attend to, all told
    ROWS,  # requests that decoded in the last step
    READ,  # context they read [tokens]
    TOKENS,  # tokens of the last step if it held prefill, else 0
    DECODING,  # requests that decode
    CONTEXT,  # sum of what their next step reads [tokens]
    EMITTED,  # counter that moves them all
    STEPS,  # steps in which they moved
    HEAD,
    TAIL,
    FREE_SLOTS,
    PARTIAL,  # request whose prompt is unfinished, or -1
    PARTIAL_DONE,
    PARTIAL_BLOCKS,
    COHORTS,
    PREEMPTED,  # whether this step preempted
    PREEMPTIONS,
    RECOMPUTED,
    CACHED,
    IDLE,
    DECODE_TICKS,
    MIXED_TICKS,
    ROW_TICKS,  # requests decoding, times ticks
    EVENTS,
    SAMPLED,
    INTERVAL,
    NEXT_SAMPLE,
    STUCK,
    NUM_SCALARS,
) = range(56)

SAMPLES = 1024
"""Points kept of the time series; when they are full every second one goes."""
NEVER = 1 << 62
"""Arrival of a request that waits for another to finish (closed loop)."""
CLOCK_END = 1 << 61
"""The loop stops when the clock has passed this."""
GAP_BITS = 7
"""Inter-token times fall in bins of 1/128 of their power of two: within 0.8 %."""
GAP_BINS = 64 << GAP_BITS
