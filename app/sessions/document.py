"""This browser's work as a session document, and a document as this browser's work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app import state
from app.inputs.parsing import parse_sizes
from core.errors import CaptureSizesError
from core.model.config_kept import kept_config
from core.readers.reading import Reading
from core.records import CaptureMode, PoolPolicy
from core.records.session import TuningSession, WorkloadRef, is_job_id, plain_settings
from core.store.workloads import workload_digest

# Pasted configurations may hold secrets; the rest is of one browser only, or made anew.
NOT_KEPT = (
    *("address_read", "file_id", "options", "unread", "reread", "served", "swept", "judge_all"),
    *("calibration_file", "calibration_eager"),
    *("not_faster_files", "sweep_job_key"),
    *("engine_choice", "stored_digest", "picture_format", "other_readings"),
    *("own_before", "own_seen", "own_sentence", "own_clicked", "own_taken"),
)
OWN_SIZES = "own_sizes"
ENUMS = {
    "policy": PoolPolicy,
    "measure_policy": PoolPolicy,
    "capture_mode": CaptureMode,
}


def document(name: str, notes: str = "") -> TuningSession:
    """This browser session's work as a document."""
    session = state.session()
    workload = session.workload
    ref = None
    if workload is not None:
        ref = WorkloadRef(workload.name, stored_digest(workload), workload.is_example)
    return TuningSession(
        *(name, ref, _settings(session.values), session.sets, dict(session.profiles)),
        *(_jobs_of(session), notes),
    )


def _jobs_of(session: state.Session) -> tuple[str, ...]:
    """The jobs whose rows the pages show, after those that the session named already: no tidying up
    deletes them. The one in view is last."""
    shown = [*state.value("measure_jobs", [""]), state.value("sweep_job", ""), session.job_id]
    found = [job for job in (*session.other_jobs, *shown) if job and is_job_id(job)]
    return tuple(job for i, job in enumerate(found) if job not in found[i + 1 :])


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was chosen; a default that a page merely showed is no change of the session."""
    kept = {
        key: _kept_value(key, value)
        for key, value in values.items()
        if _is_kept(key) and not _is_default(key, value)
    }
    return {**_left_alone(), **_with_last_list(plain_settings(kept)[0])}


def _with_last_list(settings: dict[str, Any]) -> dict[str, Any]:
    """A text of "My list" that does not parse is a list being typed: it stays on the page, and the
    session keeps the list that it has."""
    if OWN_SIZES not in settings or _is_list(settings[OWN_SIZES]):
        return settings
    saved = state.session().saved
    there = {} if saved is None else saved.settings
    rest = {key: value for key, value in settings.items() if key != OWN_SIZES}
    return {**rest, OWN_SIZES: there[OWN_SIZES]} if OWN_SIZES in there else rest


def _is_list(text: Any) -> bool:
    try:
        parse_sizes(str(text))
    except CaptureSizesError:
        return False
    return True


def _is_default(key: str, value: Any) -> bool:
    """Would the page show it in any case? A default that follows from the work may move on, so
    what was chosen there is kept even where the two are equal."""
    session = state.session()
    fixed = key in session.defaults and key not in session.following
    return fixed and value == session.defaults[key]


def _left_alone() -> dict[str, Any]:
    """What the session holds and this version cannot use: it may be another's, so it stays."""
    session = state.session()
    there = {} if session.saved is None else session.saved.settings
    return {key: value for key, value in session.set_aside.items() if key in there}


def _is_kept(key: str) -> bool:
    return key not in NOT_KEPT and not key.startswith(("config_", "compare_"))


def _kept_value(key: str, value: Any) -> Any:
    """A choice as it is stored; of a pasted config.json only what is computed with."""
    if key == "model_config":
        return kept_config(str(value))
    return value.value if key in ENUMS and hasattr(value, "value") else value


def stored_digest(workload: state.Workload) -> str:
    """The content's name, worked out once an upload: it reads every array."""
    stored = state.session().values.get("stored_digest")
    if stored is None or stored[0] != workload.digest:
        stored = (workload.digest, workload_digest(workload.reading))
        state.session().values["stored_digest"] = stored
    return stored[1]


def reading_for(kept: TuningSession) -> Reading | None:
    """This browser's traffic, where it is the one that the document names."""
    workload = state.session().workload
    if workload is None or kept.workload is None:
        return None
    return workload.reading if stored_digest(workload) == kept.workload.digest else None


def fill(kept: TuningSession, reading: Reading | None) -> None:
    """Make a document this browser's work; reading : the traffic that it names."""
    session = state.session()
    known = known_settings(kept.settings)
    state.replace_values(known)
    session.set_aside = {
        key: value for key, value in kept.settings.items() if key not in known and _is_kept(key)
    }
    session.profiles = dict(kept.profiles)
    measured = [job for job in kept.jobs if job != kept.settings.get("sweep_job")]
    session.job_id = measured[-1] if measured else None
    session.sets, session.other_jobs = kept.sets, _not_shown(kept)
    session.workload = workload_of(kept, reading)
    if kept.workload is not None:
        session.values["stored_digest"] = (kept.workload.digest, kept.workload.digest)


def _not_shown(kept: TuningSession) -> tuple[str, ...]:
    """Jobs that no setting of the document shows: nothing on the pages replaces them."""
    shown = kept.settings.get("measure_jobs", ())
    shown = [*(shown if isinstance(shown, list) else ()), kept.settings.get("sweep_job")]
    return tuple(job for job in kept.jobs if job not in shown)


def as_browser(kept: TuningSession, reading: Reading | None) -> state.Session:
    """What a browser would hold that had opened the document, to work it out (state.as_if)."""
    values = known_settings(kept.settings)
    unknown = {key: item for key, item in kept.settings.items() if key not in values}
    return state.Session(
        workload=workload_of(kept, reading),
        profiles=dict(kept.profiles),
        sets=kept.sets,
        values=values,
        unproven=set(values),
        set_aside=unknown,
    )


def known_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as widgets hold them; a choice that this version does not know is left out."""
    kept = {}
    for key, value in settings.items():
        try:
            kept[key] = ENUMS[key](value) if key in ENUMS else value
        except ValueError:
            continue
    return kept


def workload_of(kept: TuningSession, reading: Reading | None) -> state.Workload | None:
    """A document's traffic as the pages hold it."""
    ref = kept.workload
    if ref is None or reading is None:
        return None
    return state.Workload(ref.name, ref.digest, reading, ref.is_example)
