"""Decoding requests advance together, for one step or a run of steps."""

from core.simulation.kernel.gaps import add_gap, add_run_of_gaps
from core.simulation.kernel.names import (
    BLOCK,
    BLOCKS,
    COHORTS,
    CONTEXT,
    CONTEXT_TICKS,
    COUNT,
    DECODING,
    DRAFTS,
    EMIT_DENOMINATOR,
    EMIT_NUMERATOR,
    EMITTED,
    FREE,
    MAX_SEQS,
    NEXT,
    NOW,
    PARTIAL,
    PEAK,
    PREEMPTED,
    ROW_TICKS,
    SINGLE,
    STACKED,
    STEPS,
)
from core.simulation.kernel.requests import complete, leave


def emission(s):
    """Tokens each decoding request emits in the next step (1 without drafts)."""
    if s[DRAFTS] == 0:
        return 1
    top, bottom = s[EMIT_NUMERATOR], s[EMIT_DENOMINATOR]
    return (s[STEPS] + 1) * top // bottom - s[STEPS] * top // bottom


def blocks_for_step(e, s, ahead, emit):
    """Blocks that decoding requests need for the step `ahead` tokens from now."""
    need = 0
    for token in range(ahead, ahead + emit):
        need += e.ring[-(s[EMITTED] + token) % s[BLOCK]]
    return need


def blocks_for_run(e, s, steps):
    """Blocks for the next `steps` steps of one token each: whole turns of the ring, and a rest."""
    turns = steps // s[BLOCK]
    return turns * s[DECODING] + blocks_for_step(e, s, turns * s[BLOCK], steps % s[BLOCK])


def steps_that_fit(e, s, steps):
    """How many of the next `steps` steps the free blocks allow (at least one does)."""
    if (steps // s[BLOCK] + 1) * s[DECODING] <= s[FREE]:
        return steps
    turns = s[FREE] // s[DECODING]
    left = s[FREE] - turns * s[DECODING]
    fit = turns * s[BLOCK]
    while fit < steps:
        left -= blocks_for_step(e, s, fit, 1)
        if left < 0:
            break
        fit += 1
    return min(fit, steps)


def step_ticks(e, s, ahead):
    """Time of the decode step `ahead` steps from now at the present batch."""
    rows = s[DECODING]
    context = s[CONTEXT] + rows * ahead
    return max(e.decode_floor[rows], e.decode[rows] + s[CONTEXT_TICKS] * context)


def steps_on_floor(e, s, steps):
    """How many of the next `steps` decode steps take no longer than their floor."""
    rows = s[DECODING]
    growth = s[CONTEXT_TICKS] * rows
    slack = e.decode_floor[rows] - e.decode[rows] - s[CONTEXT_TICKS] * s[CONTEXT]
    if slack <= 0:
        return 0
    return steps if growth == 0 else min(steps, (slack + growth - 1) // growth)


def run_ticks(e, s, steps):
    """Time of the next `steps` decode steps: some on the floor, then growing with context."""
    rows = s[DECODING]
    low = steps_on_floor(e, s, steps)
    rest = steps - low
    first = e.decode[rows] + s[CONTEXT_TICKS] * (s[CONTEXT] + rows * low)
    growth = s[CONTEXT_TICKS] * rows
    return low * e.decode_floor[rows] + rest * first + growth * (rest * (rest - 1) // 2)


def steps_until(e, s, wait, steps):
    """The first of the next `steps` steps that ends `wait` ticks from now or later; else `steps`.

    Steps grow with context, so their number lies between those at the pace of the last and of the
    first step: a narrow bracket.
    """
    first = step_ticks(e, s, 0)
    high = min(steps, (wait + first - 1) // first)
    last = step_ticks(e, s, high - 1)
    low = min(high, (wait + last - 1) // last)
    while low < high:
        middle = (low + high) // 2
        if run_ticks(e, s, middle) >= wait:
            high = middle
        else:
            low = middle + 1
    return low


def run_length(e, s):
    """Steps until something changes: a completion, no free block, or an arrival to look at."""
    if s[PREEMPTED] == 1 or s[DRAFTS] > 0 or s[SINGLE] == 1:
        return 1
    steps = steps_that_fit(e, s, e.key[e.heap[0]] - s[EMITTED])
    # Who waits already (or finds no slot) is not admitted before a completion.
    open_to = s[DECODING] < s[MAX_SEQS] and s[STACKED] == 0 and s[PARTIAL] < 0
    if not open_to or s[NEXT] >= s[COUNT] or e.arrival[s[NEXT]] <= s[NOW]:
        return steps
    return steps_until(e, s, e.arrival[s[NEXT]] - s[NOW], steps)


def add_first_gaps(e, s, ticks):
    """Gaps that end with the coming step: since their last token, which may lie further back."""
    for i in range(s[COHORTS]):
        add_gap(e, s[NOW] + ticks - e.cohort_time[i], e.cohort_count[i])


def add_later_gaps(e, s, steps):
    """Gaps of the decoding requests over the steps of a run after its first."""
    rows = s[DECODING]
    low = steps_on_floor(e, s, steps)
    if low > 1:
        add_gap(e, e.decode_floor[rows], (low - 1) * rows)
    start = max(low, 1)
    growth = s[CONTEXT_TICKS] * rows
    ticks = e.decode[rows] + s[CONTEXT_TICKS] * (s[CONTEXT] + rows * start)
    add_run_of_gaps(e, ticks, growth, steps - start, rows)


def move_decoders(e, s, steps, emit, ticks):
    """Advance the clock and every decoding request; those that are done leave."""
    s[NOW] += ticks
    s[ROW_TICKS] += ticks * s[DECODING]
    s[STEPS] += steps * (s[DECODING] > 0)
    s[EMITTED] += steps * emit
    s[CONTEXT] += steps * emit * s[DECODING]
    s[PEAK] = max(s[PEAK], s[BLOCKS] - s[FREE])
    while s[DECODING] > 0 and e.key[e.heap[0]] <= s[EMITTED]:
        slot = e.heap[0]
        leave(e, s, slot)
        complete(e, s, e.request[slot])
    s[COHORTS] = 0
    if s[DECODING] > 0:
        e.cohort_time[0] = s[NOW]
        e.cohort_count[0] = s[DECODING]
        s[COHORTS] = 1
