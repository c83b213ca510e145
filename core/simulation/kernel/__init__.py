"""The loop of continuous batching: one source, compiled by numba or run as plain Python.

Only integers, tuples and indexing, so that both give the same ticks. `e` is a state.Engine
(arrays or lists), `s` its scalars by the names of names.py.

Rules (vLLM V1): first come, first served; running requests first, then waiting ones, under a
budget of tokens and a limit of requests; prompts in chunks, of which at most one is unfinished;
KV blocks are taken as tokens come; without a free block the last admitted request is preempted,
loses its blocks and returns to the head of the queue; a step that preempted admits no one.
SEPARATE (SGLang's default): a step is either prefill, which goes first, or decode; the prompt that
does not fit into the budget is cut there and goes on in the next step.

Why it is fast: all decoding requests advance together, so one counter of emitted tokens moves
them all. A request is done when the counter reaches its key (a heap), needs a block when the
counter passes its residue (a ring of counts), and a run of equal steps is added up in one go.
"""
