"""Does it survive: processes killed at random, many browsers at once, and hours of use.

    python -m benchmarks.reliability kill --rounds 200 --database sqlite --seed 1
    python -m benchmarks.reliability browsers --clients 50 --seconds 180
    python -m benchmarks.reliability memory --seconds 1800

What was found is in docs/reliability.md.
"""
