"""What holds for every engine: settings are declared and checked, versions answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES, get_engine
from core.engines.ladder import as_ranges, ceil_to
from core.engines.plan import StepKind
from core.engines.settings import SettingType
from core.engines.versions import Release, resolve, version_key
from core.errors import CaptureSizesError, SettingError
from tests.core.engines.notation import expand

engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@engines
def test_every_release_answers(engine) -> None:
    """Each known release answers with defaults: ascending sizes and a source."""
    for version in engine.versions:
        for kind in StepKind:
            answer = engine.default_sizes(version, {}, kind)
            assert list(answer.sizes) == sorted(set(answer.sizes))
            assert answer.source
        assert engine.default_sizes(version).sizes


@engines
def test_newest_is_the_default(engine) -> None:
    """No version means the newest known; versions are listed newest first."""
    assert engine.default_sizes() == engine.default_sizes(engine.versions[0])
    keys = [version_key(v) for v in engine.versions]
    assert keys == sorted(keys, reverse=True)


@engines
@pytest.mark.parametrize("version", ["99.1.2", "0.0.1", "nightly"])
def test_unknown_version_is_answered_and_says_so(engine, version: str) -> None:
    """A release we do not know gets the nearest rule, and the first note names both."""
    answer = engine.default_sizes(version)
    assert version in answer.notes[0]
    nearest = engine.versions[-1] if version == "0.0.1" else engine.versions[0]
    if version == "99.1.2" and engine.versions[0] == "main":
        nearest = engine.versions[1]
    assert nearest in answer.notes[0]
    assert answer.sizes == engine.default_sizes(nearest).sizes


def test_release_between_two_known_ones() -> None:
    """The older neighbour answers: its rule was seen, the newer one's may have come later."""
    release, note = resolve("vLLM", ("0.33.0", "0.31.0", "0.30.0"), "v0.32.1")
    assert str(release) == "0.31.0"
    assert "0.31.0" in note
    assert resolve("vLLM", ("0.33.0",), "0.33") == (Release("0.33.0"), "")


def test_order_of_versions() -> None:
    """Post releases follow, main is newest, texts compare as releases."""
    assert version_key("0.4.6") < version_key("0.4.6.post5") < version_key("0.4.7")  # type: ignore[operator]
    assert version_key("9.9") < version_key("main")  # type: ignore[operator]
    assert Release("0.9.2") < "0.10.2"
    assert Release("0.33.0") == "0.33"
    assert version_key("nightly") is None


@engines
def test_unknown_setting_lists_the_known(engine) -> None:
    """A setting that is not declared is refused, and the declared ones are named."""
    with pytest.raises(SettingError) as caught:
        engine.default_sizes(None, {"no_such_setting": 1})
    assert "no_such_setting" in str(caught.value)
    for setting in engine.settings:
        assert setting.name in str(caught.value)


@engines
def test_out_of_range(engine) -> None:
    """Each bounded number refuses the value below its bound; each word refuses another word."""
    for setting in engine.settings:
        if setting.minimum is not None:
            with pytest.raises(SettingError, match=setting.name):
                engine.default_sizes(None, {setting.name: setting.minimum - 1})
        if setting.type is SettingType.CHOICE:
            with pytest.raises(SettingError, match=setting.name):
                engine.default_sizes(None, {setting.name: "no such word"})
        if setting.type in (SettingType.INT, SettingType.FLOAT, SettingType.BOOL):
            with pytest.raises(SettingError, match=setting.name):
                engine.default_sizes(None, {setting.name: "many"})


@engines
def test_settings_are_described(engine) -> None:
    """Names are unique, each has a help line, and every default passes its own check."""
    names = [setting.name for setting in engine.settings]
    assert len(names) == len(set(names))
    for setting in engine.settings:
        assert setting.help.endswith(".")
        engine.default_sizes(None, {setting.name: setting.default})


def test_texts_are_converted() -> None:
    """A command line's texts mean the same as typed values."""
    vllm = ENGINES["vllm"]
    typed = vllm.plan(None, {"max_num_seqs": 16, "enforce_eager": False})
    assert vllm.plan(None, {"max_num_seqs": " 16", "enforce_eager": "no"}) == typed
    own = vllm.default_sizes(None, {"cudagraph_capture_sizes": "[1, 2,4 8]"})
    assert own.sizes == (1, 2, 4, 8)
    for wrong in (True, 1.5, "1e3", None.__class__):
        with pytest.raises(SettingError, match="max_num_seqs"):
            vllm.plan(None, {"max_num_seqs": wrong})
    with pytest.raises(SettingError, match="gpu_memory_gib"):
        vllm.plan(None, {"gpu_memory_gib": float("nan")})


def test_names_of_engines() -> None:
    """Id, label and alias all find an engine; another name lists the known."""
    assert get_engine("vLLM") is ENGINES["vllm"]
    assert get_engine("TensorRT-LLM") is get_engine("trt-llm") is ENGINES["trtllm"]
    assert list(ENGINES)[:3] == ["vllm", "sglang", "trtllm"]
    with pytest.raises(SettingError, match="vllm, sglang, trtllm"):
        get_engine("llama.cpp")


def test_bad_capture_sizes() -> None:
    """A list with something else than whole numbers of 1 or more is refused."""
    for sizes in ([], [0, 1], [1.5], [-4]):
        with pytest.raises(CaptureSizesError):
            ENGINES["vllm"].plan(None, {}, sizes)


@given(st.sets(st.integers(1, 2000), min_size=1))
def test_short_form_of_a_list(sizes: set[int]) -> None:
    """The short form names exactly the sizes of the list."""
    assert expand(as_ranges(sorted(sizes))) == tuple(sorted(sizes))


@given(st.integers(1, 10_000), st.integers(1, 100))
def test_ceil_to(size: int, multiple: int) -> None:
    """The smallest multiple that is not below the size."""
    result = ceil_to(size, multiple)
    assert result % multiple == 0 and size <= result < size + multiple


def test_common_names() -> None:
    """max_num_seqs means the same in every engine, whatever it calls it."""
    for engine in ENGINES.values():
        assert engine.plan(None, {"max_num_seqs": 24}).full_load == 24
        assert set(engine.common_names.values()) <= {s.name for s in engine.settings}
    with pytest.raises(SettingError, match="twice"):
        ENGINES["sglang"].plan(None, {"max_num_seqs": 1, "max_running_requests": 2})
