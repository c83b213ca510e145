"""The house rules: who may import whom, and that rooms stay small."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = ("app", "core", "gpu_worker")
# The worker's measuring half runs where the job engine is not installed.
NO_JOB_ENGINE = (
    "graphs",
    "buffers",
    "timing",
    "pool_memory",
    "correctness",
    "device",
    "measure",
    "replay",
)
MAX_LINES = 400


def files(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found, f"{room} is empty: the rule would hold for nothing"
    return found


def imported(path: Path) -> set[str]:
    """Dotted names of every module that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def offenders(room: str, forbidden: tuple[str, ...], skip: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(room)
        if not any(str(path.relative_to(ROOT)).startswith(s) for s in skip)
        for name in sorted(imported(path))
        if any(name == bad or name.startswith(f"{bad}.") for bad in forbidden)
    ]


def test_core_knows_neither_screen_nor_card():
    """core imports no torch, streamlit or plotly, and neither of the other rooms."""
    assert offenders("core", ("torch", "triton", "streamlit", "plotly", "app", "gpu_worker")) == []


def test_app_knows_no_card():
    """app imports neither torch nor the worker: it starts fast and runs on a laptop."""
    assert offenders("app", ("torch", "triton", "gpu_worker", "dbos", "sqlalchemy")) == []


def test_worker_knows_no_screen():
    """gpu_worker imports neither the front end nor its libraries."""
    assert offenders("gpu_worker", ("app", "streamlit", "plotly", "pandas")) == []


def test_store_is_a_room_of_its_own():
    """Nothing in core but core/store itself imports core.store or the job engine."""
    forbidden = ("core.store", "dbos", "sqlalchemy", "alembic")
    assert offenders("core", forbidden, skip=("core/store/",)) == []


def test_logs_stand_below_those_who_read_them():
    """core/logs knows messages alone: of core it imports itself and core.text."""
    known = ("core.logs", "core.text")
    above = {
        f"{path.name} imports {name}"
        for path in (ROOT / "core" / "logs").glob("*.py")
        for name in imported(path)
        if name.startswith("core") and not name.startswith(known)
    }
    assert above == set()


def test_measuring_needs_no_job_engine():
    """The measuring modules import neither the job engine nor the store."""
    paths = [ROOT / "gpu_worker" / f"{name}.py" for name in NO_JOB_ENGINE]
    paths += (ROOT / "gpu_worker" / "targets").rglob("*.py")
    paths += (ROOT / "gpu_worker" / "driven").glob("*.py")
    for path in paths:
        bad = {n for n in imported(path) if n.split(".")[0] in ("dbos", "sqlalchemy")}
        bad |= {n for n in imported(path) if n.startswith("core.store")}
        assert not bad, f"{path.relative_to(ROOT)} imports {bad}"


@pytest.mark.parametrize("module", ["core.records", "core.buckets", "core.readers", "core.engines"])
def test_core_brings_no_heavy_library_along(module):
    """A fresh interpreter that imports core has loaded no torch, streamlit, plotly or numba."""
    code = f"import sys, {module}; print(*sorted(m for m in sys.modules if '.' not in m))"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(out.stdout.split())
    assert module.split(".")[0] in loaded
    assert not loaded & {"torch", "streamlit", "plotly", "numba", "dbos", "sqlalchemy"}


@pytest.mark.parametrize("room", ROOMS)
def test_files_stay_small(room):
    """One noun a file: none over 400 lines."""
    big = {
        str(p.relative_to(ROOT)): n
        for p in files(room)
        if (n := len(p.read_text("utf-8").splitlines())) > MAX_LINES
    }
    assert big == {}


def test_every_module_says_what_it_knows():
    """Each module opens with a docstring."""
    silent = [
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in files(room)
        if path.read_text("utf-8").strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_the_architecture_lists_every_module():
    """ARCHITECTURE.md's list is what scripts/list_modules.py writes."""
    command = [sys.executable, "scripts/list_modules.py", "--check"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0, "run scripts/list_modules.py"


def test_every_page_is_in_the_readme():
    """README.md's table names each page of the navigation."""
    text = (ROOT / "README.md").read_text("utf-8")
    entry = (ROOT / "app" / "streamlit_app.py").read_text("utf-8")
    titles = re.findall(r'st\.Page\("[^"]+", title="([^"]+)"', entry)
    assert len(titles) >= 5
    assert [title for title in titles if f"| {title} |" not in text] == []


def test_every_command_is_in_the_readme():
    """README.md shows each command of `python -m core`."""
    text = (ROOT / "README.md").read_text("utf-8")
    modules = [p for p in (ROOT / "core" / "commands").glob("*.py") if not p.name.startswith("_")]
    names = [re.search(r'^NAME = "([^"]+)"', p.read_text(), re.M) for p in modules]
    found = [name[1] for name in names if name]
    assert len(found) == len(modules)
    assert [name for name in found if f"python -m core {name}" not in text] == []


def test_links_between_documents_lead_somewhere():
    """Each relative link of a Markdown document points to a file that is there."""
    broken = []
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text("utf-8")):
            if "://" not in target and not (document.parent / target).exists():
                broken.append(f"{document.name}: {target}")
    assert broken == []
