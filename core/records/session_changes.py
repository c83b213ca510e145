"""What differs between two documents of a session, field by field, and both joined into one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from core.records.json import to_json_dict
from core.records.session import TuningSession
from core.records.session_json import (
    canonical,
    session_from_json,
    set_to_json,
)
from core.text.counting import counted

SHOWN_CHARS = 80


class Absent(Enum):
    """The value of a field that a document does not have."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True)
class FieldChange:
    """One field that differs.

    field : "name", "notes", "workload", "settings.KEY", "sets.NAME", "profiles.NAME", "jobs.ID"
    before, after : JSON values; ABSENT where the document does not have the field
    """

    field: str
    before: Any
    after: Any

    @property
    def text(self) -> str:
        """One line for people, e.g. "settings.best_k: 16 -> 8"; printable characters only."""
        before, after = (
            "" if value is ABSENT else shown_value(self.field, value)
            for value in (self.before, self.after)
        )
        if self.before is ABSENT:
            return f"{self.field}: {after} (new)"
        if self.after is ABSENT:
            return f"{self.field}: taken out (was {before})"
        return f"{self.field}: {before} -> {after}"


def fields_of(session: TuningSession) -> dict[str, Any]:
    """{field: JSON value}; together they are the whole document."""
    made: dict[str, Any] = {"name": session.name, "notes": session.notes}
    made["workload"] = asdict(session.workload) if session.workload else None
    made |= {f"settings.{key}": value for key, value in session.settings.items()}
    made |= {f"sets.{item.name}": set_to_json(item) for item in session.sets}
    made |= {f"profiles.{name}": to_json_dict(item) for name, item in session.profiles.items()}
    return made | {f"jobs.{job_id}": True for job_id in session.jobs}


def session_from_fields(fields: Mapping[str, Any], like: TuningSession) -> TuningSession:
    """The document of which `fields_of` gives these fields, in their order."""

    def part(kind: str) -> dict[str, Any]:
        start = f"{kind}."
        return {k.removeprefix(start): v for k, v in fields.items() if k.startswith(start)}

    return session_from_json(
        {
            "format": like.format,
            "name": fields["name"],
            "notes": fields["notes"],
            "workload": fields["workload"],
            "settings": part("settings"),
            "sets": list(part("sets").values()),
            "profiles": part("profiles"),
            "jobs": list(part("jobs")),
        }
    )


def changes(before: TuningSession, after: TuningSession) -> tuple[FieldChange, ...]:
    """Fields whose content differs; the order of sets, settings and jobs does not count."""
    old, new = fields_of(before), fields_of(after)
    return tuple(
        FieldChange(field, old.get(field, ABSENT), new.get(field, ABSENT))
        for field in dict.fromkeys((*old, *new))
        if _text(old.get(field, ABSENT)) != _text(new.get(field, ABSENT))
    )


@dataclass(frozen=True)
class Merge:
    """Two writers' changes in one document.

    clashes : fields that both changed, to different values; the document holds the preferred one
    """

    session: TuningSession
    clashes: tuple[str, ...]


def merge(
    base: TuningSession, mine: TuningSession, theirs: TuningSession, prefer_mine: bool = True
) -> Merge:
    """Both writers' changes to `base`; where both changed a field, one is preferred."""
    result = fields_of(theirs)
    foreign = {change.field for change in changes(base, theirs)}
    clashes = []
    for change in changes(base, mine):
        same = _text(result.get(change.field, ABSENT)) == _text(change.after)
        if change.field in foreign and not same:
            clashes.append(change.field)
            if not prefer_mine:
                continue
        if change.after is ABSENT:
            result.pop(change.field, None)
        else:
            result[change.field] = change.after
    return Merge(session_from_fields(result, theirs), tuple(clashes))


def _text(value: Any) -> str:
    # By text, because True == 1 in Python and a widget tells them apart.
    return "" if value is ABSENT else canonical(value)


def shown_value(field: str, value: Any) -> str:
    """A field's value on one line of printable characters, at most SHOWN_CHARS of them."""
    if field.startswith("sets."):
        text = ", ".join(map(str, value["sizes"][:16])) + (", ..." if value["sizes"][16:] else "")
        text += f" ({value['note']})" if value["note"] else ""
    elif field.startswith("profiles."):
        rows = counted(len(value["rows"]), "rows")
        text = f"{value['device']['name']}, {rows}, {value['measured_at']}"
    elif field == "workload":
        text = value["name"] if value else "none"
    elif field.startswith("jobs."):
        text = "sent"
    else:
        text = json.dumps(value, ensure_ascii=False)
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return shown if len(shown) <= SHOWN_CHARS else f"{shown[: SHOWN_CHARS - 3]}..."
