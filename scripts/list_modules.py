"""Write the list of modules in ARCHITECTURE.md, one line each, from their docstrings.

python scripts/list_modules.py           rewrite the list
python scripts/list_modules.py --check   exit 1 if it is out of date
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("app", "core", "gpu_worker", "scripts", "benchmarks")
START, END = "<!-- modules: written by scripts/list_modules.py -->", "<!-- end of modules -->"


def first_line(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").strip()


def listing() -> str:
    lines = []
    for room in ROOMS:
        lines += ["", f"### {room}", ""]
        for path in sorted((ROOT / room).rglob("*.py")):
            text = first_line(path)
            if text:
                lines.append(f"- `{path.relative_to(ROOT / room)}`: {text}")
    return "\n".join(lines) + "\n"


def main() -> int:
    target = ROOT / "ARCHITECTURE.md"
    old = target.read_text("utf-8")
    head, rest = old.split(START)
    new = f"{head}{START}\n{listing()}\n{END}{rest.split(END)[1]}"
    if "--check" in sys.argv:
        return 0 if new == old else 1
    target.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
