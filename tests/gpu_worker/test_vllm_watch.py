"""What is seen of vLLM: captures by kind and size, the card's part, and what it prints."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import SettingError
from core.records import EngineSpec, ModelShape
from core.records.engine import cut_text
from gpu_worker.driven.process import CAUSE, ELSEWHERE
from gpu_worker.targets.vllm import printed, watch
from gpu_worker.targets.vllm.arguments import arguments
from gpu_worker.targets.vllm.model_folder import config_of
from gpu_worker.targets.vllm.release import checked_release, release_notes
from tests.conftest import DATA, ROOT

LOGS = DATA / "engine_logs"


class Graph:
    """Like torch.cuda.graph: entered to capture."""

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> bool:
        return False


class Card:
    """Memory that captures take, and the forward pass that goes on."""

    def __init__(self) -> None:
        self.free = 1000
        self.now: tuple[str | None, int | None] = (None, None)

    def capture(self, num_bytes: int, now: tuple[str | None, int | None] = (None, None)) -> None:
        self.now = now
        with Graph():
            self.free -= num_bytes


def watched(card: Card) -> watch.CaptureWatch:
    return watch.CaptureWatch(Graph, lambda: card.now, lambda: card.free)


def test_captures_by_kind_and_size_by_hand() -> None:
    """Pieces of one size are one group; full graphs, whose size is not told, are named in order."""
    card = Card()
    with watched(card) as seen:
        for num_bytes, size in ((300, 8), (10, 8), (5, 4), (5, 4)):
            card.capture(num_bytes, ("PIECEWISE", size))
        for num_bytes in (50, 20):
            card.capture(num_bytes)
    found = seen.captures((8, 4))
    assert [(one.kind, one.size, one.num_bytes) for one in found] == [
        ("PIECEWISE", 8, 310), ("PIECEWISE", 4, 10), ("FULL", 8, 50), ("FULL", 4, 20),
    ]  # fmt: skip
    assert all(one.seconds >= 0 for one in found)
    # Told of another number of full graphs than there were, sizes stay unknown.
    assert [one.size for one in seen.captures((8,)) if one.kind == "FULL"] == [None, None]


def test_captures_that_an_engine_drops_again_do_not_count() -> None:
    """A trial capture of a size is replaced by the real one."""
    card = Card()
    with watched(card) as seen:
        card.capture(7, ("FULL", 8))
        card.capture(100, ("PIECEWISE", 8))
        card.capture(40, ("FULL", 8))
    found = seen.captures(())
    assert [(one.kind, one.num_bytes) for one in found] == [("PIECEWISE", 100), ("FULL", 40)]


def test_the_watch_leaves_the_class_as_it_was() -> None:
    """Also where the start fails in the middle."""
    before = (Graph.__enter__, Graph.__exit__)
    with pytest.raises(ValueError), watched(Card()):
        assert Graph.__enter__ is not before[0]
        raise ValueError
    assert (Graph.__enter__, Graph.__exit__) == before


class Timer:
    """An event whose time is the number of events before it [ms]."""

    made = 0

    def record(self) -> None:
        Timer.made += 1
        self.at = Timer.made

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Timer) -> float:
        return float(end.at - self.at)


def test_the_cards_part_by_hand() -> None:
    """Nested parts count once, several add up, and a step without one tells none."""
    clock = watch.CardClock(Timer)
    inner = clock.around(lambda x: x + 1)
    outer = clock.around(lambda x: inner(inner(x)))
    assert outer(1) == 3 and inner(1) == 2
    # Two spans of one event each to the next: 1 ms and 1 ms.
    assert clock.taken_s() == pytest.approx(2e-3)
    assert clock.taken_s() is None
    clock.begin()  # a step that failed in the middle
    assert clock.taken_s() is None
    assert clock.around(lambda: 5)() == 5 and clock.taken_s() == pytest.approx(1e-3)
    assert watch.CardClock(None).around(lambda: 7)() == 7


def test_time_is_taken_where_a_runner_has_its_model() -> None:
    """Both kinds of runner; one that has neither is said to be out of reach."""
    calls: list[str] = []

    def note(name: str) -> Any:
        return lambda *_: calls.append(name)

    first = SimpleNamespace(_model_forward=note("forward"))
    manager = SimpleNamespace(run_fullgraph=note("full"), run_pw_graph=note("pieces"))
    second = SimpleNamespace(cudagraph_manager=manager)
    for runner, call in (
        (first, lambda: first._model_forward()),
        (second, lambda: manager.run_fullgraph(1)),
    ):
        clock = watch.CardClock(Timer)
        assert watch.time_model(runner, clock)
        call()
        assert clock.taken_s() is not None
    assert calls == ["forward", "full"]
    assert not watch.time_model(SimpleNamespace(), watch.CardClock(Timer))


def test_what_a_step_held() -> None:
    """From the scheduler, the graph that was chosen, and the engine's own statistics."""
    step = watch.StepWatch()
    scheduler = SimpleNamespace(
        schedule=lambda: SimpleNamespace(
            num_scheduled_tokens={"a": 1, "b": 6}, total_num_scheduled_tokens=7
        )
    )
    assert watch.tell(scheduler, "schedule", step.scheduled)
    assert scheduler.schedule().total_num_scheduled_tokens == 7
    assert (step.rows, step.tokens) == (2, 7)
    step.dispatched(SimpleNamespace(cg_mode=SimpleNamespace(name="FULL"), num_tokens=8))
    assert (step.mode, step.padded) == ("FULL", 8)
    stats = SimpleNamespace(runtime_mode="CUDAGraphMode.PIECEWISE", num_padded_tokens=16)
    step.counted(SimpleNamespace(scheduler_stats=SimpleNamespace(cudagraph_stats=stats)))
    assert (step.mode, step.padded) == ("PIECEWISE", 16)
    step.counted(SimpleNamespace(scheduler_stats=None))
    assert step.mode == "PIECEWISE"
    assert not watch.tell(None, "dispatch", step.dispatched)


TOGETHER = "profile, KV cache and warm-up together"


@pytest.mark.parametrize(
    ("name", "want", "captured"),
    [
        (
            "default",
            {"load weights": 1.703457, "compile": 19.35, "capture graphs": 4, TOGETHER: 41.96},
            (4, 0.59),
        ),
        (
            "pow2",
            {"load weights": 1.596925, "compile": 19.06, "capture graphs": 1, TOGETHER: 36.72},
            (1, 0.34),
        ),
        ("eager", {"load weights": 1.487968, TOGETHER: 18.70}, (None, None)),
    ],
)
def test_phases_of_real_logs(name: str, want: dict[str, float], captured: tuple[Any, Any]) -> None:
    """Real start-ups of 0.23.0: seconds of each phase as printed, and the graphs' GiB."""
    text = (LOGS / f"vllm-0.23-h200-{name}.log").read_text("utf-8")
    assert dict(printed.phases(text)) == want
    assert printed.capture(text) == captured


KNOWN = {
    *("model", "load_format", "skip_tokenizer_init", "max_model_len", "max_num_seqs", "seed"),
    *("max_num_batched_tokens", "gpu_memory_utilization", "tensor_parallel_size", "enforce_eager"),
    *("kv_cache_dtype", "enable_prefix_caching", "async_scheduling", "disable_log_stats"),
    *("block_size", "compilation_config", "speculative_config", "enable_lora", "max_loras"),
    *("max_lora_rank", "cudagraph_metrics"),
}


def test_settings_under_the_engines_names() -> None:
    """What is asked for, and nothing that is not."""
    plain = arguments(EngineSpec(), "m", True, KNOWN, "0.23.0")
    assert plain["model"] == "m" and plain["load_format"] == "dummy"
    assert plain["async_scheduling"] is False and plain["cudagraph_metrics"] is True
    assert not {"compilation_config", "speculative_config", "enable_lora", "block_size"} & set(
        plain
    )
    asked = EngineSpec(
        capture_sizes=(2, 1), cudagraph_mode="PIECEWISE", ngram_tokens=3, max_loras=2, block_size=32
    )
    full = arguments(asked, "m", False, KNOWN, "0.23.0")
    assert "load_format" not in full and full["block_size"] == 32
    want = {"cudagraph_capture_sizes": [1, 2], "cudagraph_mode": "PIECEWISE"}
    assert full["compilation_config"] == want
    assert full["speculative_config"]["num_speculative_tokens"] == 3
    assert (full["enable_lora"], full["max_loras"]) == (True, 2)
    eager = arguments(EngineSpec(enforce_eager=True), "m", True, KNOWN, "0.23.0")
    assert eager["enforce_eager"] is True and "compilation_config" not in eager


def test_names_by_release() -> None:
    """What only tells more is left out where a release has it not; what is needed is refused."""
    few = arguments(EngineSpec(), "m", True, KNOWN - {"cudagraph_metrics"}, "0.11.0")
    assert "cudagraph_metrics" not in few
    with pytest.raises(SettingError, match="vLLM 0.99 has no setting max_num_seqs"):
        arguments(EngineSpec(), "m", True, KNOWN - {"max_num_seqs"}, "0.99")


def test_releases() -> None:
    """From 0.11 on; another than the one that was tested says so."""
    for text in ("0.11.0", "0.23.0", "0.33.1rc2"):
        assert checked_release(text) == text
    for text in ("0.10.2", "0.9", "dev"):
        with pytest.raises(SettingError):
            checked_release(text)
    assert release_notes("0.23.1") == () and "0.12.0 itself was not" in release_notes("0.12.0")[0]


def test_a_config_of_a_shape() -> None:
    """Llama's, or Mixtral's where there are experts; every length is the shape's."""
    dense = config_of(ModelShape(num_heads=8, num_kv_heads=2, head_dim=48), 4096)
    assert dense["architectures"] == ["LlamaForCausalLM"] and dense["head_dim"] == 48
    assert (dense["num_key_value_heads"], dense["max_position_embeddings"]) == (2, 4096)
    experts = config_of(ModelShape(num_experts=8, experts_per_token=2), 4096)
    assert experts["architectures"] == ["MixtralForCausalLM"]
    assert (experts["num_local_experts"], experts["num_experts_per_tok"]) == (8, 2)


def test_long_prints_are_cut_in_the_middle() -> None:
    """Beginning and end stay, and the number between them is told."""
    text = "a" * 75 + "b" * 50 + "c" * 25
    assert cut_text(text, 100) == "a" * 75 + "\n... 50 characters left out ...\n" + "c" * 25
    assert cut_text(text, 150) == text


def test_a_cause_that_lies_elsewhere() -> None:
    """The engine's own words for it, and the line that tells it."""
    assert ELSEWHERE.search("Engine core initialization failed. See root cause above.")
    assert not ELSEWHERE.search("ValueError: Free memory on device is less than desired")
    found = CAUSE.search("(Worker pid=3) ERROR torch.OutOfMemoryError: CUDA out of memory.\n")
    assert found is not None and found[1] == "OutOfMemoryError"


def test_driving_needs_few_packages() -> None:
    """Beside the engine only torch and numpy: neither the job engine nor the dashboard's."""
    code = (
        "import sys, gpu_worker.replay, gpu_worker.measure, gpu_worker.driven.serve\n"
        "import gpu_worker.targets.vllm.driver\n"
        "names = ('dbos', 'sqlalchemy', 'streamlit', 'plotly', 'pandas', 'numba')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
