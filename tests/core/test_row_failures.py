"""A failed row says why, in words that tell what to do."""

from __future__ import annotations

import pytest

from core.diagnose import diagnose
from core.failures.capture_errors import RULES
from core.failures.row_failures import UNKNOWN, row_failure, row_failures
from core.records import MeasureRow


@pytest.mark.parametrize(
    ("error", "klass"),
    [
        (
            "512 requests with 2048 tokens of context do not fit; the device's free memory holds "
            "300",
            "does_not_fit",
        ),
        (
            "The step cannot be captured: own.py, line 3: aten::nonzero has a result whose shape "
            "depends on values; a graph's shapes do not",
            "data_dependent_shape",
        ),
        (
            "The step cannot be captured: own.py, line 3: Tensor.item reads a value on the CPU, "
            "which a replay never does",
            "host_sync",
        ),
        (
            "The step cannot be captured: own.py, line 9: aten::copy_ copies memory that is not "
            "pinned",
            "h2d_copy",
        ),
        ("The measuring process ended with signal 9", "process_killed"),
        ("The measuring process ended with signal 11: Segmentation fault", "process_crashed"),
        ("The measuring process ended with exit code 1: ImportError: no", "process_crashed"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "oom_in_row"),
        ("AcceleratorError: CUDA error: capturing stream has unjoined work", "unjoined"),
        (
            "RuntimeError: CUDA error: operation not permitted when stream is capturing",
            "forbidden_call",
        ),
        ("ValueError: heads do not divide", "other_error"),
        ("gone", "other_error"),
        ("  ", "other_error"),
    ],
)
def test_each_error_has_a_cause_and_a_remedy(error, klass):
    """The worker's own sentences, and any exception that diagnose knows."""
    found = row_failure(MeasureRow(8, error=error))
    assert found is not None
    assert (found.sizes, found.error, found.klass) == ((8,), error, klass)
    assert found.cause.endswith(".") and found.remedy.endswith(".")


def test_what_the_doctor_knows_is_said_in_its_words():
    """No second wording of a cause that core.diagnose names, and the unknown is called so."""
    error = "RuntimeError: CUDA error: capturing stream has unjoined work"
    found, first = row_failure(MeasureRow(1, error=error)), diagnose(error).first
    assert found is not None and first is not None
    assert (found.cause, found.remedy) == (first.cause, first.remedy)
    assert first.cause in {rule.cause for rule in RULES}
    unknown = row_failure(MeasureRow(1, error="gone"))
    assert unknown is not None and (unknown.cause, unknown.remedy) == UNKNOWN


def test_good_rows_have_no_failure():
    """Of three rows one failed."""
    rows = [MeasureRow(1, eager_us=9.0), MeasureRow(2, error="gone"), MeasureRow(4, eager_us=9.0)]
    assert [failure.sizes for failure in row_failures(rows)] == [(2,)]


def test_rows_of_one_reason_stand_together():
    """Two sizes that do not fit, whatever their numbers, and one that was killed."""
    fits = "{} requests with 64 tokens of context do not fit; the device's free memory holds 9"
    rows = [MeasureRow(size, error=fits.format(size)) for size in (512, 256)]
    rows.append(MeasureRow(8, error="The measuring process ended with signal 9"))
    first, second = row_failures(rows)
    assert (first.sizes, first.klass) == ((512, 256), "does_not_fit")
    assert first.error == fits.format(512)
    assert (second.sizes, second.klass) == ((8,), "process_killed")
