"""export: every engine's own text, read back as the same list, with warnings where it is not."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.check import check
from core.engines.export import export
from core.engines.plan import StepKind
from core.errors import CaptureSizesError, FileContentError, SettingError

VLLM, SGLANG, TRTLLM = (ENGINES[name] for name in ("vllm", "sglang", "trtllm"))
SIZES = (1, 2, 4, 8, 16, 24)

LARGEST = {"lmdeploy": {"max_batch_size": 64}, "fastdeploy": {"max_num_seqs": 64}}
"""LMDeploy and FastDeploy always add the largest batch."""

READ_BACK = [
    (name, version, form.name)
    for name, engine in ENGINES.items()
    if engine.list_setting is not None
    for version in engine.versions
    for form in export(engine, SIZES, version).forms
    if form.name != "python" and not form.text.startswith("VLLM_BUCKETING_FROM_FILE")
]


def read_back(name: str, version: str, form: str, sizes: set[int]) -> None:
    """Export, check the text, compare."""
    engine = ENGINES[name]
    wanted = tuple(sorted({*sizes, 64}))
    settings = LARGEST.get(name, {})
    made = export(engine, wanted, version, settings)
    report = check(engine, version, settings, made.form(form).text)
    assert report.sizes == wanted
    assert not {f.id for f in report.findings} & {
        *("flag-removed", "flag-too-new", "flag-deprecated", "set-twice", "start-refused"),
        *("unknown-graph-option", "sizes-dropped", "sizes-added", "padding-off"),
    }


@pytest.mark.parametrize(("name", "version", "form"), READ_BACK)
def test_round_trip(name: str, version: str, form: str) -> None:
    """What is exported, read back by our own check, is the same set, in every release and form."""
    read_back(name, version, form, {1, 3, 24, 50})


@given(
    st.sampled_from([(name, version, form) for name, version, form in READ_BACK]),
    st.sets(st.integers(1, 64), min_size=1),
)
def test_round_trip_of_any_set(which: tuple[str, str, str], sizes: set[int]) -> None:
    """The same for any set of sizes."""
    read_back(*which, sizes)


def test_vllm_forms() -> None:
    """Always an explicit list: JSON, flag, YAML and Python."""
    forms = {f.name: f.text for f in export(VLLM, SIZES, "0.33.0").forms}
    listed = [1, 2, 4, 8, 16, 24]
    words = shlex.split(forms["json"])
    assert words[0] == "--compilation-config"
    assert json.loads(words[1]) == {"cudagraph_capture_sizes": listed}
    assert forms["flag"] == "--cudagraph-capture-sizes 1 2 4 8 16 24"
    assert yaml.safe_load(forms["yaml"]) == {"cudagraph-capture-sizes": listed}
    assert forms["python"] == f"LLM(compilation_config={{'cudagraph_capture_sizes': {listed}}})"
    older = {f.name: f.text for f in export(VLLM, SIZES, "0.10.2").forms}
    assert older["flag"] == "--cuda-graph-sizes 1 2 4 8 16 24"
    # the file's reader there passes on str(value): only a JSON text survives that
    value = yaml.safe_load(older["yaml"])["compilation-config"]
    assert json.loads(str(value)) == {"cudagraph_capture_sizes": listed}
    # a single value would be read as a maximum there
    assert "flag" not in {f.name for f in export(VLLM, [64], "0.10.2").forms}


def test_sglang_forms() -> None:
    """The new flags from 0.5.14, the old ones before; prefill has its own."""
    assert export(SGLANG, SIZES, "0.5.14").text == "--cuda-graph-bs-decode 1 2 4 8 16 24"
    assert export(SGLANG, SIZES, "0.5.13").text == "--cuda-graph-bs 1 2 4 8 16 24"
    config = json.loads(shlex.split(export(SGLANG, SIZES).form("json").text)[1])
    assert config == {"decode": {"backend": "full", "bs": [1, 2, 4, 8, 16, 24]}}
    prefill = export(SGLANG, [256, 512], kind=StepKind.PREFILL)
    assert prefill.text == "--cuda-graph-bs-prefill 256 512"
    old = export(SGLANG, [256, 512], "0.5.8", kind=StepKind.PREFILL)
    assert old.text == "--enable-piecewise-cuda-graph --piecewise-cuda-graph-tokens 256 512"
    with pytest.raises(SettingError, match="prefill"):
        export(SGLANG, [256], "0.4.6.post5", kind=StepKind.PREFILL)


def test_trtllm_forms() -> None:
    """Padding is switched on; the keys were flat up to 0.20."""
    made = export(TRTLLM, SIZES, "main")
    assert yaml.safe_load(made.text) == {
        "cuda_graph_config": {"enable_padding": True, "batch_sizes": [1, 2, 4, 8, 16, 24]}
    }
    flat = yaml.safe_load(export(TRTLLM, SIZES, "0.20").text)
    assert flat["cuda_graph_padding_enabled"] is True
    prefill = yaml.safe_load(export(TRTLLM, [256], kind=StepKind.PREFILL).text)
    assert prefill["torch_compile_config"]["capture_num_tokens"] == [256]


def test_other_forms() -> None:
    """One list for each other engine."""
    assert export(ENGINES["tgi"], SIZES).text == "--cuda-graphs 1,2,4,8,16,24"
    assert export(ENGINES["tgi"], SIZES).form("env").text == "CUDA_GRAPHS=1,2,4,8,16,24"
    lmdeploy = export(ENGINES["lmdeploy"], SIZES)
    assert lmdeploy.text == "--cudagraph-capture-batch-sizes 1 2 4 8 16 24"
    fast = json.loads(shlex.split(export(ENGINES["fastdeploy"], SIZES).text)[1])
    assert fast["cudagraph_capture_sizes"] == [1, 2, 4, 8, 16, 24]
    mini = export(ENGINES["mini-sglang"], [1, 2, 4, 20])
    assert mini.text == "--cuda-graph-max-bs 24"
    with pytest.raises(SettingError, match="nano-vllm 2026-04-26 has no setting"):
        export(ENGINES["nano-vllm"], SIZES)
    with pytest.raises(SettingError, match="known are flag, env"):
        export(ENGINES["tgi"], SIZES).form("yaml")
    with pytest.raises(CaptureSizesError):
        export(VLLM, [])


def test_warnings_name_what_changes() -> None:
    """Dropped, added, rounded and uncovered sizes are told beside the text."""
    dropped = export(VLLM, [8, 512], "0.33.0", {"max_num_batched_tokens": 256, "max_num_seqs": 8})
    assert any("512 will not be captured" in w for w in dropped.warnings)
    added = export(ENGINES["lmdeploy"], [8], None, {"max_batch_size": 64})
    assert any("64 is captured too" in w for w in added.warnings)
    eager = export(VLLM, [8], "0.33.0", {"max_num_seqs": 64})
    assert any("9 to 64" in w for w in eager.warnings)
    cut = export(TRTLLM, [8, 64], "main", {"max_batch_size": 32})
    assert any("64 will not be captured" in w for w in cut.warnings)
    near = export(VLLM, [1, 8], "0.32.5", {"max_num_seqs": 8})
    assert "0.32.5" in near.warnings[0]
    assert export(VLLM, [1, 8], "0.33.0", {"max_num_seqs": 8}).warnings == ()
    rounded = export(VLLM, [4, 8], "0.33.0", {"num_speculative_tokens": 2, "runner": "v1"})
    assert any("multiples of 3 tokens: 6" in w for w in rounded.warnings)
    mini = export(ENGINES["mini-sglang"], [3, 20])
    assert any("takes no list; this makes it 1, 2, 4, 8, 16, 24" in w for w in mini.warnings)


def test_gaudi_bucket_file() -> None:
    """A bucket file expands lists and ranges; anything else in it is refused with its line."""
    gaudi = ENGINES["gaudi"]
    text = "# comment\n(1, [256, 512], [0, 4, 8])\n(range(2, 9, 2), 1, [128, 256])  # decode\n"
    assert check(gaudi, text=text).sizes == (2, 4, 6, 8)
    for bad in ("(1, 2)", "(1, 1, __import__('os'))", "(1, 1, range(10**9))", "(1.5, 1, 1)"):
        with pytest.raises(FileContentError, match="line 2"):
            check(gaudi, text=f"(1, 1, 128)\n{bad}\n")
    with pytest.raises(FileContentError, match="no decode bucket"):
        check(gaudi, text="(1, 128, 0)\n")


def test_quoting_is_one_word() -> None:
    """JSON in a shell line is one quoted word, whatever the shell."""
    for engine in (VLLM, SGLANG, ENGINES["fastdeploy"]):
        for form in export(engine, SIZES).forms:
            if form.name == "json":
                flag, value = shlex.split(form.text)
                assert flag.startswith("--")
                assert json.loads(value)
                assert form.language == "sh"
