"""Of what a user uploads or pastes, only numbers are in the database: words planted in files, logs,
prompts, keys, column names and configurations are looked for in all of it."""

from __future__ import annotations

import base64
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.store.database import URL_SETTING
from tests.app.apptest import open_app, texts, to_page
from tests.app.session_steps import press
from tests.conftest import DATA

CANARY = "Canaryxq"
FILES = DATA / "traces"


def table() -> bytes:
    """Names of columns that are used and not used, prompts, keys, and rows that are left out."""
    head = f"timestamp,prompt_tokens,output_tokens,{CANARY}column,prompt,api_key"
    rows = [f'{i},{10 + i},{5 + i},{CANARY}{i},"{CANARY} said",sk-{CANARY}' for i in range(200)]
    return "\n".join([head, *rows, f"7,{CANARY},3,a,b,c", "8,1,,a,b,c"]).encode()


def named_columns() -> bytes:
    """Columns that can only be read because the reader, or the user, takes their names."""
    rows = [f"{i},{10 + i},{5 + i}" for i in range(200)]
    return "\n".join([f"{CANARY} arrival,{CANARY} prompt tokens,{CANARY} output", *rows]).encode()


def api_log() -> bytes:
    """Chat answers with all their words, one a line."""
    lines = []
    for line in (FILES / "openai_usage.jsonl").read_text().splitlines():
        said = [{"role": "user", "content": f"{CANARY} tell me"}]
        more = {"messages": said, "user": CANARY, "model": f"{CANARY}-8b", "api_key": CANARY}
        lines.append(json.dumps(json.loads(line) | more | {f"{CANARY}_key": CANARY}))
    return "\n".join(lines).encode()


def engine_log() -> bytes:
    """A server's log with arguments, prompts and a traceback between its own lines."""
    own = (FILES / "vllm_cudagraph_stats.log").read_text()
    other = (
        f"(APIServer pid=1) INFO 11-16 18:15:00 [api.py:1] non-default args: {{'api_key': "
        f"'{CANARY}', 'model': '/mnt/{CANARY}', 'served_model_name': ['{CANARY}']}}\n"
        f"(APIServer pid=1) INFO 11-16 18:15:01 [logger.py:1] Received request c-{CANARY}: "
        f"prompt: '{CANARY} is my password', params: None\n"
        f"Capturing {CANARY} graphs (FULL): 100%|###| 3/3 [00:01<00:00,  2.9it/s]\n"
        f"Traceback (most recent call last):\n  File '{CANARY}.py'\nValueError: {CANARY}\n"
    )
    return (other + own + other).encode()


def metrics() -> bytes:
    """A scrape whose labels name models, hosts and people."""
    text = (FILES / "prom_vllm_metrics.txt").read_text()
    label = f'model_name="{CANARY}",user="{CANARY}"'
    return text.replace("{", f"{{{label},").encode() + f"# HELP {CANARY} x\n".encode()


def archive() -> bytes:
    """Several files in one, and their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(f"{CANARY}/big.csv", table())
        packed.writestr(f"{CANARY}.csv", b"prompt_tokens,output_tokens\n1,2\n")
        packed.comment = CANARY.encode()
    return out.getvalue()


UPLOADS = {
    "table": table,
    "named columns": named_columns,
    "API log": api_log,
    "engine log": engine_log,
    "metrics": metrics,
    "archive": archive,
    "packed": lambda: gzip.compress(table()),
    "letter": lambda: f"Dear {CANARY}, here are the numbers.\n".encode(),
}
CONFIG = {
    "_name_or_path": f"/mnt/{CANARY}",
    "architectures": [CANARY],
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    CANARY: CANARY,
}
PASTED = f"vllm serve /mnt/{CANARY} --max-num-seqs 64 --api-key {CANARY} --{CANARY.lower()} 1"
FAILURE = (
    f"RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
    f'  File "{CANARY}.py", line 12, in {CANARY}\n    if {CANARY}.sum().item() > 0:'
)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import streamlit as st

    path = tmp_path / "bucketwise.sqlite"
    monkeypatch.setenv(URL_SETTING, f"sqlite:///{path}")
    st.cache_resource.clear()
    yield path
    st.cache_resource.clear()


def everything_in(database: Path) -> bytes:
    """Every byte of the file and of its write-ahead log, and every packed value unpacked."""
    found = [path.read_bytes() for path in database.parent.glob(f"{database.name}*")]
    connection = sqlite3.connect(database)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in tables:
        for row in connection.execute(f'SELECT * FROM "{name}"'):
            for value in row:
                data = value if isinstance(value, bytes) else str(value).encode()
                found.append(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    connection.close()
    return b"\n".join(found)


def planted(where: bytes) -> bool:
    """Whether the word is there, in any case, or as base64 or UTF-16 would hold it."""
    small = where.lower()
    words = (CANARY.lower().encode(), CANARY.lower().encode("utf-16-le"))
    inside = base64.b64encode(CANARY.encode())[:-4].lower()
    return any(word in small for word in (*words, inside))


def recorded_run() -> bytes:
    """A run of a real engine with other words between its numbers."""
    packed = (DATA / "engine_runs" / "vllm-0.23-h200-default.json.gz").read_bytes()
    return json.dumps(
        json.loads(gzip.decompress(packed)) | {"mode": CANARY, CANARY: CANARY}
    ).encode()


def uploader(at: AppTest, key: str) -> Any:
    """The one whose key begins so."""
    return next(item for item in at.file_uploader if str(item.key).startswith(key))


def keep_and_work_on(at: AppTest) -> None:
    """A session is made of the work, and saved again by itself after a change."""
    to_page(at, "sessions.py")
    press(at, "Keep this work as a session")
    to_page(at, "buckets.py")
    if any(item.key == "best_k" for item in at.number_input):
        at.number_input(key="best_k").set_value(7).run()
    to_page(at, "workload.py")


def test_the_word_would_be_found(database: Path):
    """In a session's name, which is the user's own to keep; so the other tests could fail."""
    at = open_app("sessions.py")
    name = next(item for item in at.text_input if item.label == "Name of the new session")
    name.set_value(f"My {CANARY}")
    press(at, "Keep this work as a session")
    assert planted(everything_in(database))


@pytest.mark.parametrize("what", UPLOADS)
def test_no_word_of_an_upload_is_kept(database: Path, what: str):
    """Uploaded on the Workload page, kept in a session, worked on, saved again."""
    at = open_app()
    at.file_uploader(key="upload").set_value(("upload", UPLOADS[what](), "text/plain")).run()
    assert not at.exception, at.exception
    understood = "Grade" in texts(at)
    assert understood == (what not in ("named columns", "letter"))
    keep_and_work_on(at)
    kept = everything_in(database)
    assert b"tuning_sessions" in kept and b"upload" in kept or not understood
    assert not planted(kept)


def test_no_word_of_a_pasted_text_is_kept(database: Path):
    """An engine's command line, a failure, a model's config, a lesson's log; their effect stays."""
    at = open_app()
    at.file_uploader(key="upload").set_value(("upload", table(), "text/plain")).run()
    to_page(at, "engine.py")
    at.text_area(key="config_vllm").set_value(PASTED).run()
    to_page(at, "diagnose.py")
    at.text_area(key="config_failure").set_value(FAILURE).run()
    to_page(at, "memory.py")
    at.text_area(key="model_config").set_value(json.dumps(CONFIG)).run()
    assert not at.exception, at.exception
    to_page(at, "learn.py")
    keep_and_work_on(at)
    kept = everything_in(database)
    assert b"num_hidden_layers" in kept, "the shape of the model is part of the session"
    assert not planted(kept)


def test_no_word_of_other_files_is_kept(database: Path):
    """Files of the pages that compare, calibrate and look for a cause are the browser's alone."""
    at = open_app()
    at.file_uploader(key="upload").set_value(("upload", table(), "text/plain")).run()
    to_page(at, "not_faster.py")
    log = ("engine.log", engine_log(), "text/plain")
    uploader(at, "not_faster_upload").set_value([log]).run()
    assert not at.exception, at.exception
    to_page(at, "calibrate.py")
    uploader(at, "calibration_file").set_value(("run.json", recorded_run(), "text/plain")).run()
    at.button(key="use_model").click().run()
    assert not at.exception, at.exception
    to_page(at, "buckets.py")
    uploader(at, "other_files").set_value([("more.csv", table(), "text/csv")]).run()
    assert not at.exception, at.exception
    keep_and_work_on(at)
    kept = everything_in(database)
    assert b"fitted_models" in kept and b"replay_us" in kept, "the fitted times are kept"
    assert not planted(kept)
