"""What a measuring process says when memory runs out, or another error comes."""

from __future__ import annotations

import io
import json

import pytest
import torch

from core.errors import SettingError
from core.failures.row_failures import row_failure
from core.records import MeasureRow, to_json_dict
from gpu_worker.failing import sentence
from gpu_worker.serve import serve
from tests.gpu_worker.conftest import tiny_spec

CARD = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 139.80 GiB of "
    "which 1.25 GiB is free. Of the allocated memory 130 GiB is allocated by PyTorch."
)


def test_memory_of_the_host_in_words():
    """A real allocation that cannot be: 10**15 bytes are 931,322.57 GiB."""
    with pytest.raises(RuntimeError) as failed:
        torch.empty(10**15, dtype=torch.uint8)
    words = sentence(failed.value, "size 8")
    assert words.startswith(
        "Memory ran out for size 8; 931,322.57 GiB more were asked for. Measure"
    )


def test_memory_of_a_card_in_words():
    """What was asked for and what is free, as the allocator tells."""
    words = sentence(torch.OutOfMemoryError(CARD), "size 512")
    assert "size 512; 2.50 GiB more were asked for; 1.25 GiB are free. Measure" in words
    found = row_failure(MeasureRow(512, error=words))
    assert found is not None and found.klass == "oom_in_row"


def test_other_errors_stay_as_they_are():
    """The project's sentence whole; another error by class and first line."""
    assert sentence(SettingError("No such card."), "size 1") == "No such card."
    assert sentence(RuntimeError("first\nsecond"), "size 1") == "RuntimeError: first"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sizes": [999_999_999]}, "Size 999,999,999 requests cannot be measured"),
        (
            # 2**20 rows x 2**20 block numbers x 4 bytes are 4 TiB
            {"sizes": [2**20], "context_tokens": 2**24, "model": {"num_layers": 1}},
            "KV cache of one request of 16777216 tokens does not fit",
        ),
        (
            # 10**6 layers of 1,024 x 10,240 numbers and more: 20 TiB that no host has free
            {"sizes": [1], "model": {"num_layers": 10**6, "hidden_size": 1024}},
            "The weights of tiny take ",
        ),
        (
            {"sizes": [2**20], "context_tokens": 2**20, "block_size_tokens": 1},
            "Memory ran out for the model tiny and its inputs for up to 1,048,576 requests",
        ),
    ],
)
def test_a_spec_that_cannot_be_opened_says_so(values, words):
    """One sentence as the answer, and the process ends."""
    spec = to_json_dict(tiny_spec(1))
    spec["model"] |= values.pop("model", {})
    spec |= values
    answers = io.StringIO()
    assert serve(io.StringIO(json.dumps({"open": spec}) + "\n"), answers) == 3
    assert words in json.loads(answers.getvalue())["failed"]
