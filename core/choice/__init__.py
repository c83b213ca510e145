"""Judging a choice of buckets: baselines, trade-off, advice, hold-out."""
