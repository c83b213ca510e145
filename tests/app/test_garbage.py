"""Unreachable objects go, but not at the price of a look after every run."""

from __future__ import annotations

import ctypes
import gc
import platform
import resource
import tomllib
import weakref
from pathlib import Path

import pytest

from app.web.garbage import Collector, give_back_freed
from tests.conftest import ROOT


class Ring:
    """Refers to itself: gone only when somebody looks."""

    def __init__(self) -> None:
        self.me = self


def test_one_look_in_a_while():
    """At 0 s and 20 s rings go; in between nothing is looked at."""
    collector = Collector(every_s=20.0)
    gone = [weakref.ref(Ring())]
    gc.disable()
    try:
        assert collector.run_if_due(0.0) and gone[0]() is None
        gone.append(weakref.ref(Ring()))
        assert not collector.run_if_due(19.9) and gone[1]() is not None
        assert collector.run_if_due(20.0) and gone[1]() is None
    finally:
        gc.enable()


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is another")
def test_freed_memory_goes_back():
    """Blocks between blocks that stay: the C library alone would keep them."""
    blocks = [ctypes.create_string_buffer(b"1" * 60_000) for _ in range(2000)]
    stay = blocks[::50] + blocks[-1:]
    before = resident_mib()
    del blocks[:]
    give_back_freed()
    assert before - resident_mib() > 80 and len(stay) == 41


def test_streamlit_does_not_look_after_every_run():
    """Both looks would be paid for."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["runner"]["postScriptGC"] is False
