"""Unreachable objects go, but not at the price of a look after every run."""

from __future__ import annotations

import gc
import tomllib
import weakref

from app.web.garbage import Collector
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


def test_streamlit_does_not_look_after_every_run():
    """Both looks would be paid for."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["runner"]["postScriptGC"] is False
