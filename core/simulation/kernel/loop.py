"""Steps of the engine, one after the other."""

from core.simulation.kernel.decode import (
    add_first_gaps,
    add_later_gaps,
    blocks_for_run,
    blocks_for_step,
    emission,
    move_decoders,
    run_length,
    run_ticks,
    step_ticks,
)
from core.simulation.kernel.names import (
    BLOCKS,
    BUDGET,
    CHUNKS,
    CLOCK_END,
    CONTEXT,
    COUNT,
    DECODE_TICKS,
    DECODING,
    DONE,
    DRAFTS,
    EVENTS,
    FREE,
    IDLE,
    INTERVAL,
    MIXED_CONTEXT_TICKS,
    MIXED_ROW_TICKS,
    MIXED_TICKS,
    NEXT,
    NEXT_SAMPLE,
    NOW,
    PAIR_TICKS,
    PAIRS,
    PARTIAL,
    PEAK,
    PREEMPTED,
    PROMPT_TICKS,
    READ,
    ROW_TICKS,
    ROWS,
    SAMPLED,
    SAMPLES,
    SEEN,
    SEPARATE,
    STACKED,
    STUCK,
    TOKENS,
)
from core.simulation.kernel.prefill import end_prefills, schedule_prefill
from core.simulation.kernel.requests import preempt_last


def mixed_ticks(e, s, tokens, rows, read):
    """Time of a step of `tokens` tokens with prefill, whose `rows` decoding requests read `read`.

    The host's part of the rows comes on top: it does not overlap with the card's work.
    """
    ticks = e.mixed[tokens] + s[MIXED_CONTEXT_TICKS] * read
    ticks += s[PAIR_TICKS] * s[PAIRS] + s[PROMPT_TICKS] * s[CHUNKS]
    return max(e.mixed_floor[tokens], ticks) + s[MIXED_ROW_TICKS] * rows


def count_mixed(e, s, tokens, rows, read, ticks):
    """Note a step with prefill."""
    e.mixed_steps[tokens] += 1
    e.mixed_rows[rows] += 1
    e.mixed_running[s[DECODING] + s[CHUNKS]] += 1
    s[MIXED_TICKS] += ticks
    s[TOKENS] = tokens
    s[ROWS] = rows
    s[READ] = read


def prefill_step(e, s):
    """SEPARATE: a step of prompts alone, if one can be made; returns its tokens."""
    tokens = schedule_prefill(e, s, s[BUDGET], s[FREE])
    if tokens > 0:
        ticks = mixed_ticks(e, s, tokens, 0, 0)
        count_mixed(e, s, tokens, 0, 0, ticks)
        s[NOW] += ticks
        s[ROW_TICKS] += ticks * s[DECODING]
        s[PEAK] = max(s[PEAK], s[BLOCKS] - s[FREE])
        end_prefills(e, s)
    return tokens


def decode_run(e, s, emit, need):
    """Decode until something changes."""
    steps = run_length(e, s)
    ticks = run_ticks(e, s, steps)
    e.decode_steps[s[DECODING]] += steps
    s[DECODE_TICKS] += ticks
    s[TOKENS] = 0
    s[ROWS] = s[DECODING]
    s[READ] = s[CONTEXT]
    s[FREE] -= blocks_for_run(e, s, steps) if s[DRAFTS] == 0 else need
    add_first_gaps(e, s, step_ticks(e, s, 0))
    add_later_gaps(e, s, steps)
    move_decoders(e, s, steps, emit, ticks)


def decode_or_mixed_step(e, s):
    """Decoding requests first, then (unless SEPARATE) chunks of prompts in what is left."""
    emit = emission(s)
    need = blocks_for_step(e, s, 0, emit)
    while need > s[FREE]:
        preempt_last(e, s)
        need = blocks_for_step(e, s, 0, emit)
    tokens = 0
    rows = s[DECODING]
    if s[SEPARATE] == 0:
        tokens = schedule_prefill(e, s, s[BUDGET] - rows * (1 + s[DRAFTS]), s[FREE] - need)
    if tokens > 0:
        tokens += rows * (1 + s[DRAFTS])
        ticks = mixed_ticks(e, s, tokens, rows, s[CONTEXT])
        count_mixed(e, s, tokens, rows, s[CONTEXT], ticks)
        s[FREE] -= need
        add_first_gaps(e, s, ticks)
        move_decoders(e, s, 1, emit, ticks)
        end_prefills(e, s)
    elif rows > 0:
        decode_run(e, s, emit, need)
    elif s[PREEMPTED] == 0:
        s[STUCK] = 1


def sample(e, s):
    """Keep a point of the time series when one is due."""
    if s[NOW] < s[NEXT_SAMPLE]:
        return
    if s[SAMPLED] == SAMPLES:
        for i in range(SAMPLES // 2):
            for series in (e.series_time, e.series_running, e.series_waiting, e.series_blocks):
                series[i] = series[2 * i + 1]
        s[SAMPLED] = SAMPLES // 2
        s[INTERVAL] *= 2
    while s[SEEN] < s[COUNT] and e.arrival[s[SEEN]] <= s[NOW]:
        s[SEEN] += 1
    at = s[SAMPLED]
    e.series_time[at] = s[NOW]
    e.series_running[at] = s[DECODING] + (s[PARTIAL] >= 0)
    e.series_waiting[at] = s[SEEN] - s[NEXT] + s[STACKED]
    e.series_blocks[at] = s[BLOCKS] - s[FREE]
    s[SAMPLED] += 1
    s[NEXT_SAMPLE] = s[NOW] + s[INTERVAL]


def advance(e, s, max_events):
    """Run until every request is done, the clock ends, or `max_events` events have passed."""
    last = s[EVENTS] + max_events
    while s[DONE] < s[COUNT] and s[EVENTS] < last and s[NOW] < CLOCK_END and s[STUCK] == 0:
        s[EVENTS] += 1
        s[PREEMPTED] = 0
        if s[DECODING] == 0 and s[PARTIAL] < 0 and s[STACKED] == 0:
            wait = e.arrival[s[NEXT]] - s[NOW]
            if wait > 0:
                s[NOW] += wait
                s[IDLE] += wait
        if s[SEPARATE] == 0 or prefill_step(e, s) == 0:
            decode_or_mixed_step(e, s)
        sample(e, s)
    return s[DONE]
