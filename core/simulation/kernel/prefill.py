"""Prompts in chunks: the unfinished one, then whom there is room for."""

from core.simulation.kernel.gaps import add_gap
from core.simulation.kernel.names import (
    CACHED,
    CHUNKS,
    COHORTS,
    COUNT,
    DECODING,
    DRAFTS,
    ENDING,
    FREE,
    MAX_SEQS,
    NEXT,
    NOW,
    PAIRS,
    PARTIAL,
    PARTIAL_BLOCKS,
    PARTIAL_DONE,
    PREEMPTED,
    SEPARATE,
    STACKED,
    WHOLE_PROMPT,
)
from core.simulation.kernel.requests import blocks_of, complete, join, preempt_last


def count_chunk(s, done, chunk):
    """Note a prompt in this step: each of its tokens attends to those before it and itself."""
    s[CHUNKS] += 1
    s[PAIRS] += chunk * done + chunk * (chunk + 1) // 2


def continue_partial(e, s, left, room):
    """Next chunk of the unfinished prompt; returns its tokens, 0 if there is no block for it."""
    q = s[PARTIAL]
    need = e.prompt[q] + e.generated[q]
    chunk = min(need - s[PARTIAL_DONE], left)
    held = s[PARTIAL_DONE] + chunk
    ends = held == need
    more = blocks_of(s, held + s[DRAFTS] * ends) - s[PARTIAL_BLOCKS]
    if more > room:
        if s[SEPARATE] == 0:
            preempt_last(e, s)
        return 0
    count_chunk(s, s[PARTIAL_DONE], chunk)
    s[FREE] -= more
    s[PARTIAL_BLOCKS] += more
    s[PARTIAL_DONE] = held
    if ends:
        s[PARTIAL] = -1
        e.batch[0] = q
        s[ENDING] = 1
    return chunk


def admit(e, s, left, room):
    """Take waiting requests while tokens, requests and blocks allow; returns their tokens."""
    tokens = 0
    while s[DECODING] + s[ENDING] < s[MAX_SEQS] and tokens < left:
        if s[STACKED] > 0:
            q = e.stack[s[STACKED] - 1]
        elif s[NEXT] < s[COUNT] and e.arrival[s[NEXT]] <= s[NOW]:
            q = s[NEXT]
        else:
            break
        need = e.prompt[q] + e.generated[q]
        chunk = min(need - e.hit[q], left - tokens)
        held = e.hit[q] + chunk
        ends = held == need
        blocks = blocks_of(s, held + s[DRAFTS] * ends)
        asked = blocks_of(s, need + s[DRAFTS]) if s[WHOLE_PROMPT] == 1 else blocks
        if asked > room:
            break
        if s[STACKED] > 0:
            s[STACKED] -= 1
        else:
            s[NEXT] += 1
        s[FREE] -= blocks
        room -= blocks
        tokens += chunk
        s[CACHED] += e.hit[q]
        count_chunk(s, e.hit[q], chunk)
        if ends:
            e.batch[s[ENDING]] = q
            s[ENDING] += 1
        else:
            s[PARTIAL] = q
            s[PARTIAL_DONE] = held
            s[PARTIAL_BLOCKS] = blocks
            break
    return tokens


def schedule_prefill(e, s, left, room):
    """Chunks of this step, in tokens; the prompts that end in it are in e.batch."""
    s[ENDING] = 0
    s[CHUNKS] = 0
    s[PAIRS] = 0
    tokens = 0
    if s[PARTIAL] >= 0:
        free = s[FREE]
        tokens = continue_partial(e, s, left, room)
        room -= free - s[FREE]
        if tokens == 0:
            return 0
    if s[PARTIAL] < 0 and s[PREEMPTED] == 0:
        tokens += admit(e, s, left - tokens, room)
    return tokens


def end_prefills(e, s):
    """Prompts that ended with this step give a token, then decode or are done."""
    joined = 0
    for i in range(s[ENDING]):
        q = e.batch[i]
        kv = e.prompt[q] + e.generated[q]
        if e.first[q] < 0:
            e.first[q] = s[NOW]
        else:
            add_gap(e, s[NOW] - e.last[q], 1)
        e.generated[q] += 1
        if e.generated[q] >= e.output[q]:
            s[FREE] += blocks_of(s, kv + s[DRAFTS])
            complete(e, s, q)
        else:
            join(e, s, q, kv)
            joined += 1
    s[ENDING] = 0
    if joined > 0:
        last = s[COHORTS] - 1
        if last >= 0 and e.cohort_time[last] == s[NOW]:
            e.cohort_count[last] += joined
        else:
            e.cohort_time[last + 1] = s[NOW]
            e.cohort_count[last + 1] = joined
            s[COHORTS] += 1
