"""The heap of decoding slots: the one that is done first on top."""


def sift_up(e, at):
    slot = e.heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        other = e.heap[parent]
        if e.key[other] <= e.key[slot]:
            break
        e.heap[at] = other
        e.place[other] = at
        at = parent
    e.heap[at] = slot
    e.place[slot] = at


def sift_down(e, at, length):
    slot = e.heap[at]
    child = 2 * at + 1
    while child < length:
        if child + 1 < length and e.key[e.heap[child + 1]] < e.key[e.heap[child]]:
            child += 1
        other = e.heap[child]
        if e.key[other] >= e.key[slot]:
            break
        e.heap[at] = other
        e.place[other] = at
        at = child
        child = 2 * at + 1
    e.heap[at] = slot
    e.place[slot] = at
