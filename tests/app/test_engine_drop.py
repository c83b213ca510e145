"""A deployment file on the Engine page: dropped or pasted, one of several, with open variables."""

from __future__ import annotations

import pytest

from tests.app.apptest import open_app, texts

pytestmark = pytest.mark.usefixtures("own_database")

COMPOSE = b"""services:
  prefill:
    image: vllm/vllm-openai:v0.19.1
    command: --model m --max-num-seqs 4 --enforce-eager
  decode:
    image: lmsysorg/sglang:v0.5.8-cu128
    command: python3 -m sglang.launch_server --cuda-graph-max-bs ${BS} --api-key sk-very-secret
  cache:
    image: redis:7
"""


def dropped(data: bytes = COMPOSE, name: str = "compose.yaml"):
    at = open_app("engine.py")
    at.file_uploader(key="config_file").set_value((name, data, "text/yaml")).run()
    assert not at.exception, at.exception
    return at


def release(at) -> str:
    return next(m.value for m in at.metric if m.label == "release")


def test_a_dropped_file_names_engine_and_release():
    """The first engine of the file is shown with its release; what is none is named."""
    at = dropped()
    assert at.selectbox(key="engine").value == "vllm"
    assert release(at) == "vLLM 0.19.1"
    assert next(m.value for m in at.metric if m.label == "sizes captured") == "0"
    assert "redis" in texts(at)


def test_another_engine_of_the_file_and_its_open_variable():
    """The second service is SGLang; its maximum is asked for by name, and taken when given."""
    at = dropped()
    box = at.selectbox(key="config_which")
    box.set_value(box.options[1]).run()
    assert release(at) == "SGLang 0.5.8"
    assert "BS" in texts(at)
    at.text_input(key="config_var_BS").set_value("4").run()
    assert not at.exception
    assert any(code.value.replace(" ", "") == "1,2,4" for code in at.code)


def test_no_secret_of_the_file_is_kept():
    """What other pages and sessions get is the settings, without keys."""
    at = dropped()
    box = at.selectbox(key="config_which")
    box.set_value(box.options[1]).run()
    choice = at.session_state["bucketwise"].values["engine_choice"]
    assert choice.engine == "sglang"
    assert "sk-very-secret" not in choice.text and "redis" not in choice.text


def test_a_pasted_script_is_read_whatever_engine_is_chosen():
    """The text says SGLang although vLLM is chosen above."""
    at = open_app("engine.py")
    script = "MAX=8\npython -m sglang.launch_server --model m --max-running-requests $MAX\n"
    at.text_area(key="config_vllm").set_value(script).run()
    assert not at.exception and not at.error
    assert release(at).startswith("SGLang")


def test_files_that_hold_nothing_are_refused_in_one_sentence():
    """No traceback for a file without engine, for YAML that is none, or for bytes."""
    for data in (b"services: {a: {image: redis}}", b"services: [\n", b"\xff\xfe\x00"):
        at = dropped(data)
        assert len(at.error) == 1 and at.error[0].value


def test_a_key_of_another_session_cannot_break_the_choice():
    """A choice that the file does not offer falls back to its first engine."""
    at = dropped()
    at.session_state["bucketwise"].values["config_which"] = "9: gone"
    at.run()
    assert not at.exception
    assert release(at) == "vLLM 0.19.1"
