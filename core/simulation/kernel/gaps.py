"""Inter-token times in bins, so that a run of steps is counted in one go."""

from core.simulation.kernel.names import (
    GAP_BITS,
)


def gap_shift(ticks):
    """How far to shift so that GAP_BITS + 1 bits are left."""
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if (ticks >> (shift + step)) >> GAP_BITS:
            shift += step
    return shift


def add_gap(e, ticks, count):
    shift = gap_shift(ticks)
    e.gaps[(shift << GAP_BITS) + (ticks >> shift)] += count


def add_run_of_gaps(e, ticks, growth, steps, count):
    """`steps` gaps of ticks, ticks + growth, ticks + 2 growth ..., `count` requests each."""
    if growth == 0 and steps > 0:
        add_gap(e, ticks, steps * count)
        return
    while steps > 0:
        shift = gap_shift(ticks)
        top = (((ticks >> shift) + 1) << shift) - 1
        inside = min(steps, (top - ticks) // growth + 1)
        e.gaps[(shift << GAP_BITS) + (ticks >> shift)] += inside * count
        ticks += inside * growth
        steps -= inside
