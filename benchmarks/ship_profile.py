"""Write a measured profile as it is kept in core/profiles: no host name, one row a line, and of an
engine its facts without the text that it printed, which names hosts and folders.

python -m gpu_worker.measure --spec benchmarks/specs/llama-8b.json --out profile.json
python benchmarks/ship_profile.py profile.json core/profiles/h200-llama-8b.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from core.records import profile_from_json


def rounded(value: Any) -> Any:
    """Nanoseconds are beyond any clock here."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def main(source: Path, target: Path) -> None:
    """Raises RecordError if the source is no profile."""
    document = rounded(json.loads(source.read_text()))
    document["device"]["host"] = None
    if document.get("engine"):
        document["engine"]["printed"] = ""
    rows = [{k: v for k, v in row.items() if v is not None} for row in document.pop("rows")]
    head = json.dumps(document, indent=1).removesuffix("\n}")
    body = ",\n  ".join(json.dumps(row) for row in rows)
    text = f'{head},\n "rows": [\n  {body}\n ]\n}}\n'
    profile = profile_from_json(json.loads(text), str(source))
    target.write_text(text)
    print(f"{target}: {profile.source}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
