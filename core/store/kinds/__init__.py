"""The kinds of jobs there are."""

from core.errors import JobError
from core.store.kinds.kind import Kind
from core.store.kinds.measure import MEASURE, MeasureJob
from core.store.kinds.sweep import SWEEP, SweepJob

__all__ = ["KINDS", "Kind", "MEASURE", "MeasureJob", "SWEEP", "SweepJob", "kind_named", "kind_of"]

KINDS = {kind.name: kind for kind in (MEASURE, SWEEP)}


def kind_named(name: str) -> Kind:
    """Raises JobError for a kind that this version does not know."""
    if name not in KINDS:
        raise JobError(
            f"The job is of kind {name!r}, which this version does not know; update Bucketwise."
        )
    return KINDS[name]


def kind_of(spec: object) -> Kind:
    """The kind of job that a spec asks for."""
    return next(kind for kind in KINDS.values() if isinstance(spec, kind.spec))
