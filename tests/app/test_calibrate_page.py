"""The Calibrate page: real beside fitted, and a model that every page computes with."""

from __future__ import annotations

import pytest

from app.sessions.document import NOT_KEPT
from core.calibration.calibrate import calibrate
from core.calibration.example import example_evidence
from core.calibration.model import model_from_json
from core.records import Origin
from core.records.session import plain_settings
from tests.app.apptest import figure, numbers, open_app, shown, table_row, texts, to_page
from tests.conftest import DATA

pytestmark = pytest.mark.usefixtures("own_database")

ROWS = "\n".join(f"{n},{1000 + 10 * n},{3000}" for n in (1, 2, 4, 8, 16, 32, 64, 128, 256))
TABLE = f"batch,step_us,eager_us\n{ROWS}\n".encode()


def with_upload(data: bytes, name: str = "table.csv", key: str = "calibration_file_upload"):
    at = open_app("calibrate.py")
    at.file_uploader(key=key).set_value((name, data, "text/csv")).run()
    assert not at.exception, at.exception
    return at


def opened_example():
    at = open_app("calibrate.py")
    at.button(key="calibration_example").click().run()
    assert not at.exception and not at.error, [e.value for e in at.error]
    return at


def test_the_example_shows_real_beside_fitted():
    """Sentences, points and the table are core's for the same file."""
    at = opened_example()
    found = calibrate(example_evidence())
    for sentence in found.sentences:
        assert sentence in texts(at)
    traces = {t["name"]: t for t in figure(at, "Decode steps: real and fitted")["data"]}
    groups = found.kinds[0].groups
    assert numbers(traces["real (median, quartiles)"]["y"]) == pytest.approx(groups.real_us / 1e3)
    assert numbers(traces["fitted"]["y"]) == pytest.approx(groups.fitted_us / 1e3)
    assert numbers(traces["error"]["y"]) == pytest.approx(100 * groups.off)
    assert found.comparison is not None
    row = table_row(at, "figure", "makespan")
    assert row["error"] == f"{100 * found.comparison.makespan.error:+.1f} %"
    assert row["real"] == "70.95 s"
    distance = table_row(at, "figure", "running requests: distance")
    assert distance["error"] == f"{found.comparison.batch_distance:.3f}"
    running = figure(at, "Running requests a step")["data"]
    assert sum(numbers(running[0]["y"])) == 3956


def test_prefill_steps_have_their_own_view():
    """The second view draws steps with prefill by their tokens."""
    at = opened_example()
    at.segmented_control(key="calibration_kind").set_value("Steps with prefill").run()
    spec = figure(at, "Steps with prefill: real and fitted")
    assert "tokens in a step" in str(spec["layout"]["xaxis2"]["title"])


def test_the_model_is_used_on_every_page():
    """After the button the sidebar says fitted, and Break-even computes with its times."""
    at = with_upload(TABLE)
    at.button(key="use_model").click().run()
    assert not at.exception
    assert at.selectbox(key="cost_name").value == "Fitted: table.csv"
    assert "Fitted: table.csv (table of decode steps by batch size), 9 sizes" in texts(at)
    assert "Every page computes with this model now" in " ".join(s.value for s in at.success)
    at.query_params["example"] = "1"
    to_page(at, "workload.py")
    at.button(key="example_button").click().run()
    to_page(at, "break_even.py")
    assert not at.exception and not at.error
    row = table_row(at, "bucket", 1)
    assert row["eager step"] == "3.00 ms" and row["graph step"] == "1.01 ms"
    for page in ("buckets.py", "serve.py", "memory.py"):
        to_page(at, page)
        assert not at.exception and not at.error, [e.value for e in at.error]


def test_a_model_stays_with_the_page_left():
    """Back on the page the file is still there and the model marked as used."""
    at = with_upload(TABLE)
    at.button(key="use_model").click().run()
    to_page(at, "buckets.py")
    to_page(at, "calibrate.py")
    assert "table.csv" in texts(at) and at.button(key="use_model").disabled


def test_an_eager_file_gives_the_eager_steps():
    """The second upload becomes the eager curve; without it the page says what is missing."""
    at = with_upload(b"batch,step_us\n1,1000\n2,1100\n4,1200\n8,1300\n")
    assert "No eager step is in the file" in texts(at)
    at.file_uploader(key="calibration_eager_upload").set_value(
        ("eager.csv", b"batch,eager_us\n1,5000\n8,5000\n", "text/csv")
    ).run()
    assert not at.exception and "No eager step is in the file" not in texts(at)
    at.file_uploader(key="calibration_eager_upload").set_value([]).run()
    assert "No eager step is in the file" in texts(at)


def test_capture_sizes_can_be_typed():
    """Sizes 1, 2, 4: the table's batch 8 ran eager, so nothing is missing."""
    at = with_upload(b"batch,step_us\n1,1000\n2,1100\n4,1200\n8,9000\n")
    at.text_input(key="calibration_sizes").set_value("1, 2, 4").run()
    assert not at.error and "No eager step is in the file" not in texts(at)
    at.text_input(key="calibration_sizes").set_value("none").run()
    assert "ran without graphs" in texts(at)
    at.text_input(key="calibration_sizes").set_value("1, two").run()
    assert "'two' is not a capture size" in shown(at.error[0].value)


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"hello", "noise.txt", "no step times found"),
        (b'{"requests": [], "steps": []}', "run.json", "kv_blocks lacks"),
        ((DATA / "engine_logs" / "vllm-0.23-h200-pow2.log").read_bytes(), "x.log", "without step"),
    ],
)
def test_bad_files_are_one_sentence(data, name, says):
    """The file is named, the page stays."""
    at = with_upload(data, name)
    assert len(at.error) == 1
    assert says in shown(at.error[0].value) and name in shown(at.error[0].value)


def test_a_model_that_cannot_be_read_is_said_and_goes():
    """A kept session with a damaged model: a warning, and the assumption instead."""
    at = open_app("buckets.py", example="1")
    held = at.session_state["bucketwise"]
    held.values["fitted_models"] = {"old": {"format": 99}}
    held.values["cost_name"] = "Fitted: old"
    at.run()
    assert not at.exception and any("format is 99" in w.value for w in at.warning)
    assert at.selectbox(key="cost_name").value.startswith("Assumed")


def test_a_fitted_model_is_kept_with_the_session_and_files_are_not():
    """The settings hold the model as plain values; what was uploaded stays in the browser."""
    at = with_upload(TABLE)
    at.button(key="use_model").click().run()
    held = at.session_state["bucketwise"].values
    kept, left_out = plain_settings({"fitted_models": held["fitted_models"]})
    assert not left_out
    assert model_from_json(kept["fitted_models"]["table.csv"]).cost.origin is Origin.FITTED
    assert {"calibration_file", "calibration_eager"} <= set(NOT_KEPT)


def test_a_link_opens_the_example():
    """?example=1 shows the built-in run; an upload takes its place."""
    at = open_app("calibrate.py", example="1")
    assert "recorded run of an engine" in texts(at)
    assert "Example: a recorded run of vLLM 0.23 on an H200." in texts(at)
    at.file_uploader(key="calibration_file_upload").set_value(("t.csv", TABLE, "text/csv")).run()
    assert "Example: a" not in texts(at)
    assert "table of decode steps" in texts(at) and "recorded run of an" not in texts(at)
