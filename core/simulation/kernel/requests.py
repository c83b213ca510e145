"""Requests come and go: slots, blocks, preemption, completion."""

from core.simulation.kernel.heap import sift_down, sift_up
from core.simulation.kernel.names import (
    BLOCK,
    CLOSED,
    COHORTS,
    CONTEXT,
    COUNT,
    DECODING,
    DONE,
    DRAFTS,
    EMITTED,
    FREE,
    FREE_SLOTS,
    HEAD,
    NOW,
    PARTIAL,
    PARTIAL_BLOCKS,
    PARTIAL_DONE,
    PREEMPTED,
    PREEMPTIONS,
    RECOMPUTED,
    RELEASED,
    STACKED,
    TAIL,
)


def blocks_of(s, tokens):
    return (tokens + s[BLOCK] - 1) // s[BLOCK]


def join(e, s, q, kv):
    """Request q, with kv tokens in the cache, decodes from the next step on."""
    s[FREE_SLOTS] -= 1
    slot = e.free[s[FREE_SLOTS]]
    e.request[slot] = q
    e.residue[slot] = (kv + s[DRAFTS] - s[EMITTED]) % s[BLOCK]
    e.ring[e.residue[slot]] += 1
    e.key[slot] = s[EMITTED] + e.output[q] - e.generated[q]
    tail = s[TAIL]
    e.before[slot] = tail
    e.after[slot] = -1
    if tail >= 0:
        e.after[tail] = slot
    else:
        s[HEAD] = slot
    s[TAIL] = slot
    e.heap[s[DECODING]] = slot
    sift_up(e, s[DECODING])
    s[DECODING] += 1
    s[CONTEXT] += kv + 1


def leave(e, s, slot):
    """Free the slot and its blocks; returns the tokens it had in the cache."""
    q = e.request[slot]
    kv = e.prompt[q] + e.output[q] - (e.key[slot] - s[EMITTED]) - 1
    s[FREE] += blocks_of(s, kv + s[DRAFTS])
    s[CONTEXT] -= kv + 1
    e.ring[e.residue[slot]] -= 1
    before, after = e.before[slot], e.after[slot]
    if before >= 0:
        e.after[before] = after
    else:
        s[HEAD] = after
    if after >= 0:
        e.before[after] = before
    else:
        s[TAIL] = before
    s[DECODING] -= 1
    at, length = e.place[slot], s[DECODING]
    if at != length:
        moved = e.heap[length]
        e.heap[at] = moved
        e.place[moved] = at
        sift_up(e, at)
        sift_down(e, e.place[moved], length)
    e.free[s[FREE_SLOTS]] = slot
    s[FREE_SLOTS] += 1
    return kv


def complete(e, s, q):
    e.generated[q] = e.output[q]
    e.finish[q] = s[NOW]
    s[DONE] += 1
    if s[CLOSED] > 0 and s[RELEASED] < s[COUNT]:
        e.arrival[s[RELEASED]] = s[NOW]
        s[RELEASED] += 1


def preempt_last(e, s):
    """The last admitted request loses its blocks and waits at the head of the queue."""
    s[PREEMPTED] = 1
    s[PREEMPTIONS] += 1
    if s[PARTIAL] >= 0:
        q = s[PARTIAL]
        s[FREE] += s[PARTIAL_BLOCKS]
        s[RECOMPUTED] += s[PARTIAL_DONE] - e.hit[q]
        s[PARTIAL] = -1
    else:
        slot = s[TAIL]
        q = e.request[slot]
        e.generated[q] = e.output[q] - (e.key[slot] - s[EMITTED])
        s[RECOMPUTED] += leave(e, s, slot) - e.hit[q]
        last = s[COHORTS] - 1
        e.last[q] = e.cohort_time[last]
        e.cohort_count[last] -= 1
        if e.cohort_count[last] == 0:
            s[COHORTS] -= 1
    e.stack[s[STACKED]] = q
    s[STACKED] += 1
