"""`python -m gpu_worker.measure`, the job without the job engine; and the device's facts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from core.errors import InputError, SettingError
from core.records import PoolPolicy, profile_from_json, to_json_dict
from gpu_worker import __main__ as worker_main
from gpu_worker import device, timing
from gpu_worker.failing import first_cause
from gpu_worker.files import write_text
from gpu_worker.measure import main
from tests.conftest import ROOT
from tests.gpu_worker.conftest import tiny_spec


def test_profile_of_real_cpu_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spec in, a profile out, measured in a process of its own."""
    spec, out = tmp_path / "spec.json", tmp_path / "profile.json"
    spec.write_text(json.dumps(to_json_dict(tiny_spec(2, 1))))
    assert main(["--spec", str(spec), "--out", str(out)]) == 0
    profile = profile_from_json(json.loads(out.read_text()))
    assert [row.size for row in profile.rows] == [1, 2]
    assert all(row.eager_us and row.samples == 5 for row in profile.rows)
    assert profile.device.torch == torch.__version__
    assert profile.measured_at.endswith("Z")
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:2]] == ["2", "1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "spec.json is no JSON (line 1: "),
        ("[" * 100_000, "spec.json is no JSON that can be read"),
        ("[1]", "spec.json: an object was expected, got list"),
        ("{}", 'spec.json: field "sizes" is missing; give one such as [1, 2, 4]'),
        ('{"sizes": []}', "The list of capture sizes is empty"),
        ('{"sizes": "1,2"}', "sizes is '1,2'; a list of integers"),
        ('{"sizes": [true]}', "sizes holds True"),
        ('{"sizes": [999999999]}', "Size 999,999,999 requests cannot be measured; the bound is"),
        ('{"sizes": [1], "colour": 3}', "unknown field 'colour'; known are"),
        ('{"sizes": [1], "target": 5}', "target is 5; a text is expected"),
        ('{"sizes": [1], "target": "trt"}', "Target 'trt' is unknown; use one of llama,"),
        ('{"sizes": [1], "samples": null}', "samples is None; a whole number is expected"),
        ('{"sizes": [1], "samples": 1e400}', "samples is inf; a whole number is expected"),
        ('{"sizes": [1], "warmup": -1}', "warmup is -1; 0 or more is expected"),
        ('{"sizes": [1], "capture": 3}', "capture is 3; use one of ['full', 'piecewise']"),
        ('{"sizes": [1], "model": {"name": 3}}', "spec.json.model: name is 3; a text"),
        ('{"sizes": [1], "model": {"num_layers": 0}}', "num_layers is 0; 1 or more is expected"),
    ],
)
def test_bad_spec_is_one_sentence(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, nothing measured and nothing written; the sentence names file, field and value."""
    spec = tmp_path / "spec.json"
    spec.write_text(text)
    assert main(["--spec", str(spec), "--out", str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


def test_a_spec_that_is_no_text_or_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No errno and no name of an exception: what and which file."""
    spec = tmp_path / "spec.json"
    options = ["--spec", str(spec), "--out", str(tmp_path / "out.json")]
    assert main(options) == 2
    assert f"{spec} cannot be read: no such file or directory" in capsys.readouterr().err
    spec.write_bytes(b"\xff\xfe\x00")
    assert main(options) == 2
    assert f"{spec} is no text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("gone/profile.json", "there is no folder"),
        (".", "is a folder; name a file, such as"),
    ],
)
def test_where_nothing_can_be_written_is_said_before_measuring(
    out: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A profile that took minutes is not lost to a slip in its name."""
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(to_json_dict(tiny_spec(1))))
    assert main(["--spec", str(spec), "--out", str(tmp_path / out)]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1 and not said.out


def test_a_disk_that_refuses_is_a_sentence() -> None:
    """What cannot be told before is told when it is written."""
    with pytest.raises(InputError, match="--out /proc/x/y cannot be written: no such file"):
        write_text(Path("/proc/x/y"), "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--context", "512,long"], "--context holds 'long'; write whole numbers"),
        (["--sizes", "1,-2"], "--sizes holds '-2'; write whole numbers"),
        (["--target", "trt"], "Target 'trt' is unknown"),
    ],
)
def test_bad_options_are_one_sentence(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which option, and what in it."""
    config = tmp_path / "config.json"
    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    config.write_text(json.dumps(shape | {"intermediate_size": 128, "vocab_size": 96}))
    out = ["--out", str(tmp_path / "out.json")]
    assert main(["--config", str(config), *options, *out]) == 2
    assert words in capsys.readouterr().err
    config.write_text("[1]")
    assert main(["--config", str(config), *out]) == 2
    assert "holds no JSON object" in capsys.readouterr().err


def test_measuring_needs_no_job_engine() -> None:
    """GPU hosts without dbos or SQLAlchemy can still measure."""
    code = (
        "import sys, gpu_worker.measure, gpu_worker.bench, gpu_worker.serve\n"
        "sys.exit(any(name in sys.modules for name in ('dbos', 'sqlalchemy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_order_follows_the_policy() -> None:
    """Largest first, except when smallest first is what shall be compared."""
    assert tiny_spec(2, 8, 4).measuring_order == (8, 4, 2)
    reverse = tiny_spec(2, 8, 4, pool_policy=PoolPolicy.SHARED_SMALLEST_FIRST)
    assert reverse.measuring_order == (2, 4, 8)


def test_quartiles_by_hand() -> None:
    """Of 1..5 they are 2, 3 and 4."""
    timed = timing.Timing(np.array([5.0, 1, 4, 2, 3]), np.array([1.0, 1, 1, 1, 9]))
    assert timed.quartiles() == (2.0, 3.0, 4.0)
    assert timed.host_median() == 1.0


def test_sampling_counts_warm_up_apart() -> None:
    """3 warm-ups and 4 samples are 7 calls; the samples are returned."""
    calls: list[int] = []
    timed = timing.sample(lambda: calls.append(1), 4, 3, torch.device("cpu"))
    assert len(calls) == 7 and len(timed.span_us) == 4


def test_cpu_sampling_stops_at_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never fewer than five samples, however slow."""
    monkeypatch.setattr(timing, "CPU_BUDGET_S", 0.0)
    timed = timing.sample(lambda: None, 1000, 0, torch.device("cpu"))
    assert len(timed.span_us) == timing.CPU_MIN_SAMPLES


def test_kinds_are_words_for_queues() -> None:
    """Lower case, one hyphen between words."""
    assert device.kind_of("NVIDIA H200") == "nvidia-h200"
    assert device.kind_of("NVIDIA GeForce RTX 4090 (24 GB)") == "nvidia-geforce-rtx-4090-24-gb"


def test_a_child_sees_its_own_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices count within what the user made visible; a CPU worker sees none."""
    card = device.Card("nvidia-h200", "NVIDIA H200", 1)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert device.environment_for(card)["CUDA_VISIBLE_DEVICES"] == "1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert device.environment_for(card)["CUDA_VISIBLE_DEVICES"] == "GPU-b"
    assert device.environment_for(device.cpu_card())["CUDA_VISIBLE_DEVICES"] == ""


def test_throttle_reasons_in_words() -> None:
    """0x1 is "idle", which is no throttle; 0x4 and 0x20 are."""
    assert device.throttle_text("0x0000000000000001") == "none"
    assert device.throttle_text("0x24") == "software power cap, software thermal slowdown"
    assert device.throttle_text("[N/A]") is None


def test_devices_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """all, cpu, or numbers; a number that is not there names those that are."""
    cards = [device.Card("nvidia-h200", "NVIDIA H200", i) for i in range(2)]
    monkeypatch.setattr(worker_main, "list_cards", lambda: cards)
    assert worker_main.chosen_cards("all") == cards
    assert worker_main.chosen_cards("1,1") == [cards[1]]
    assert worker_main.chosen_cards("cpu")[0].kind == "cpu"
    with pytest.raises(SettingError, match="card '7' is not visible; there: 0, 1"):
        worker_main.chosen_cards("0,7")
    monkeypatch.setattr(worker_main, "list_cards", list)
    assert worker_main.chosen_cards("all")[0].index is None


def test_first_cause_is_the_first_error() -> None:
    """What leaving the capture raised hides what broke it; the first one is told."""
    try:
        try:
            raise RuntimeError("operation not permitted when stream is capturing\ndetails")
        finally:
            raise RuntimeError("operation failed due to a previous error during capture")
    except RuntimeError as error:
        assert first_cause(error) == (
            "RuntimeError: operation not permitted when stream is capturing"
        )


def test_the_quiet_core_is_given_back() -> None:
    """While sampling the thread sits on one allowed core; afterwards on all that it had."""
    allowed = os.sched_getaffinity(0)
    with timing.on_quiet_core():
        inside = os.sched_getaffinity(0)
        assert len(inside) == 1 and inside <= allowed
    assert os.sched_getaffinity(0) == allowed


def test_a_model_config_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder's name is the model's; what is left out is printed."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    config = {
        **{"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4},
        **{"num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 96},
        **{"torch_dtype": "float32"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    out = tmp_path / "out.json"
    options = ["--config", str(folder / "config.json"), "--sizes", "1,2", "--context", "16"]
    assert main([*options, "--tensor-parallel", "2", "--out", str(out)]) == 0
    profile = profile_from_json(json.loads(out.read_text()))
    assert profile.spec.model.name == "my-model" and profile.spec.model.tensor_parallel == 2
    assert [row.error for row in profile.rows] == [None, None]
    assert "note: One shard is measured" in capsys.readouterr().out


@pytest.mark.slow
def test_several_contexts_are_a_profile_each(tmp_path: Path) -> None:
    """One command measures the same step at each context, prefill chunks too."""
    config = {
        **{"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4},
        **{"num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 96},
        **{"torch_dtype": "float32"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    options = ["--config", str(tmp_path / "config.json"), "--sizes", "2", "--context", "32,16"]
    out = tmp_path / "out.json"
    assert main([*options, "--target", "llama-prefill", "--out", str(out)]) == 0
    profiles = [
        profile_from_json(json.loads((tmp_path / f"out-context-{context}.json").read_text()))
        for context in (16, 32)
    ]
    assert [profile.spec.context_tokens for profile in profiles] == [16, 32]
    assert not out.exists()
    assert all(p.spec.target == "llama-prefill" and p.rows[0].eager_us for p in profiles)
