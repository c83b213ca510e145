"""Measuring jobs: one list of buckets on one device.

The steps are `open_device` and then `measure_bucket` for every size, largest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.records import (
    DeviceInfo,
    EngineFacts,
    MeasureRow,
    MeasureSpec,
    Profile,
    row_from_json,
    spec_from_json,
    to_json_dict,
)
from core.records.plain import from_plain
from core.records.session_json import parse_json
from core.store.kinds.kind import Kind, Step, last_end_s, outputs
from core.store.states import IDLE, JobState, JobStatus, WorkerInfo, iso_utc

OPEN_STEP = "open_device"
BUCKET_STEP = "measure_bucket"
CPU_QUEUE = "measure.cpu"


@dataclass(frozen=True, kw_only=True)
class MeasureJob(JobState):
    """One look at a measurement.

    now : the size being measured; None when none is
    rows : finished rows by ascending size, also of a job that was cancelled or failed
    device : where; None until the model is loaded
    engine : what an engine's start told, where one is measured
    """

    spec: MeasureSpec
    now: int | None = None
    rows: tuple[MeasureRow, ...] = ()
    device: DeviceInfo | None = None
    engine: EngineFacts | None = None

    def profile(self) -> Profile | None:
        """Rows finished so far as a document; None before the first."""
        if self.device is None or self.rows_at is None:
            return None
        measured_at = iso_utc(self.rows_at)
        return Profile(self.device, self.spec, self.rows, measured_at, engine=self.engine)

    @property
    def title_text(self) -> str:
        sizes = f"{len(self.spec.sizes)} size{'s' * (len(self.spec.sizes) > 1)}"
        return f"Measurement of {self.spec.model.name}, {sizes}"

    @property
    def progress_text(self) -> str:
        return f"{self.done} of {self.total} buckets measured"

    @property
    def now_text(self) -> str | None:
        if self.status is JobStatus.RUNNING and self.device is None:
            return "loading the model"
        return f"measuring bucket {self.now}" if self.now else None

    @property
    def place_text(self) -> str:
        return f"on {self.device.name}" if self.device else super().place_text

    @property
    def failures_text(self) -> str:
        failed = [row for row in self.rows if row.error]
        if not failed:
            return ""
        return f", {len(failed)} of them failed; bucket {failed[0].size}: {failed[0].error}"


def queue_name(device_kind: str) -> str:
    """The queue of a device kind, e.g. "measure.nvidia-h200"."""
    return f"measure.{device_kind}"


def _read(common: Mapping[str, Any], row: Mapping[str, Any], steps: Sequence[Step]) -> MeasureJob:
    where = f"job {row['job_id']}"
    spec = spec_from_json(parse_json(row["spec"], where), where)
    opened = outputs(steps, OPEN_STEP)
    device, engine = _opened(opened[0], where) if opened else (None, None)
    found = [row_from_json(output, where) for output in outputs(steps, BUCKET_STEP)]
    measured = {item.size for item in found}
    left = [size for size in spec.measuring_order if size not in measured]
    running = common["status"] is JobStatus.RUNNING and device is not None
    return MeasureJob(
        **common,
        done=len(found),
        total=len(spec.sizes),
        rows_at=last_end_s(steps, BUCKET_STEP),
        spec=spec,
        now=left[0] if running and left else None,
        rows=tuple(sorted(found, key=lambda item: item.size)),
        device=device,
        engine=engine,
    )


def _opened(output: Mapping[str, Any], where: str) -> tuple[DeviceInfo, EngineFacts | None]:
    """What the first step gave: the device's fields, and beside them an engine's facts."""
    fields = {name: value for name, value in output.items() if name != "engine"}
    device = from_plain(DeviceInfo, fields, f"{where}.device")
    if output.get("engine") is None:
        return device, None
    return device, from_plain(EngineFacts, output["engine"], f"{where}.engine")


def _choose_queue(speakers: Sequence[WorkerInfo]) -> str:
    """Idle GPUs first, then busy ones, then the CPU; the CPU's queue when nobody listens."""
    ranked = sorted(speakers, key=lambda w: (w.queue == CPU_QUEUE, w.doing != IDLE))
    return ranked[0].queue if ranked else CPU_QUEUE


MEASURE = Kind(
    name="measure",
    protocol="measure-1",
    workflow="measure",
    queues="measure.",
    spec=MeasureSpec,
    to_json=to_json_dict,
    read=_read,
    choose_queue=_choose_queue,
    movable=True,
)
