"""The same flags mean the same in every container, quoting and order; any text ends in words."""

from __future__ import annotations

import contextlib
import json
import shlex

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.deploy.answers import Asked, answers
from core.deploy.marks import mark, mark_of, written
from core.deploy.read import read_deployments
from core.engines import ENGINES
from core.errors import FileContentError, ProjectError
from tests.core.deploy.helpers import only
from tests.core.deploy.helpers import settings as settings_of

IMAGE = "vllm/vllm-openai:v0.19.1"

FLAGS = {
    "max-num-seqs": st.integers(1, 512).map(str),
    "max-num-batched-tokens": st.integers(512, 8192).map(str),
    "tensor-parallel-size": st.sampled_from(["1", "2", "8"]),
    "max-cudagraph-capture-size": st.integers(1, 512).map(str),
    "compilation-config": st.sampled_from(
        ['{"cudagraph_mode": "PIECEWISE"}', '{"cudagraph_capture_sizes": [1, 2, 4]}', "{}"]
    ),
    "chat-template": st.sampled_from(["a b.jinja", "it's.jinja", 'q"q', "x#y", "a;b", "a&&b"]),
    "enforce-eager": st.just(None),
}


@st.composite
def flags(draw: st.DrawFn) -> list[tuple[str, str | None]]:
    """Some flags with values, in any order."""
    names = draw(st.lists(st.sampled_from(sorted(FLAGS)), unique=True, max_size=6))
    return [(name, draw(FLAGS[name])) for name in names]


@st.composite
def spelt(draw: st.DrawFn, chosen: list[tuple[str, str | None]]) -> list[str]:
    """As words: --a b or --a=b, with dashes or underscores."""
    words: list[str] = []
    for name, value in chosen:
        flag = "--" + (name.replace("-", "_") if draw(st.booleans()) else name)
        joined = value is not None and draw(st.booleans())
        words += [f"{flag}={value}"] if joined else [flag, *([value] if value is not None else [])]
    return words


def double_quoted(word: str) -> str:
    """A word between double quotes, for a shell."""
    for sign in '\\"$`':
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'


def compose(words: list[str]) -> dict:
    return {"services": {"a": {"image": IMAGE, "command": [w.replace("$", "$$") for w in words]}}}


def pod(container: dict) -> dict:
    spec = {"containers": [{"name": "a", "image": IMAGE, **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def forms(words: list[str]) -> dict[str, str]:
    """The same start in every kind of file."""
    line = shlex.join(words)
    command = f"vllm serve m {line}"
    quoted = " ".join(map(double_quoted, words))
    as_text = {"services": {"a": {"image": IMAGE, "command": line}}}
    in_shell = {"command": ["sh", "-c"], "args": [command]}
    return {
        "line": command,
        "double quotes": f"vllm serve m {quoted}",
        "several lines": "vllm serve m \\\n  " + " \\\n  ".join(map(shlex.quote, words or ["--x"])),
        "array": f'A=({quoted})\nvllm serve m "${{A[@]}}"',
        "grown array": "A=()\n"
        + "".join(f"A+=({shlex.quote(w)})\n" for w in words)
        + 'exec vllm serve m "${A[@]}"',
        "shell in shell": f"bash -c {shlex.quote(command)}",
        "docker": f"docker run --rm -v a:b {IMAGE} --model m {line}",
        "compose list": yaml.safe_dump(compose(words)),
        "compose text": yaml.safe_dump(as_text),
        "compose JSON": json.dumps(compose(words)),
        "pod args": yaml.safe_dump(pod({"args": words})),
        "pod shell": yaml.safe_dump(pod(in_shell)),
        "values": yaml.safe_dump(
            {"image": {"repository": IMAGE[:-8], "tag": "v0.19.1"}, "args": words}
        ),
        "unit": f"[Service]\nExecStart=/usr/bin/vllm serve m {quoted}\n",
        "Dockerfile": f"FROM {IMAGE}\nCMD {json.dumps(['m', *words])}\n",
        "Dockerfile text": f"FROM {IMAGE}\nCMD {command}\n",
        "SkyPilot": yaml.safe_dump({"resources": {}, "run": command}),
    }


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_container_gives_the_same(data) -> None:
    """Quoting, order, --a=b or --a b, list or text, through a shell or not."""
    chosen = data.draw(flags())
    expected = settings_of(only("vllm serve m " + shlex.join(data.draw(spelt(chosen)))))
    shuffled = data.draw(st.permutations(chosen))
    for name, text in forms(data.draw(spelt(shuffled))).items():
        one = only(text)
        assert (one.engine, settings_of(one)) == ("vllm", expected), name
        assert one.unset == (), name
    assert set(expected) <= {s.name for s in ENGINES["vllm"].settings}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_variable_is_its_value_or_asked_for(data) -> None:
    """${X:-v}, X=v, a given X and X in the environment are v; without any, X is asked for."""
    value = data.draw(st.integers(1, 512))
    wanted = {"max_num_seqs": value}
    line = "vllm serve m --max-num-seqs"
    texts = [
        f"{line} ${{X:-{value}}}",
        f"X={value}\n{line} $X",
        f"X={value - 1}\n{line} $((X + 1))",
        f"export X={value}\nbash -c '{line} $X'",
        yaml.safe_dump(
            pod({"env": [{"name": "X", "value": value}], "args": ["--max-num-seqs", "$(X)"]})
        ),
        f"[Service]\nEnvironment=X={value}\nExecStart={line} ${{X}}\n",
        f"FROM {IMAGE}\nENV X={value}\nCMD {line} $X\n",
    ]
    for text in texts:
        assert settings_of(only(text)) == wanted, text
    for text in (
        f"{line} $X",
        f"[Service]\nExecStart={line} $X\n",
        f"FROM {IMAGE}\nCMD {line} $X\n",
    ):
        assert (settings_of(only(text)), only(text).unset) == ({}, ("X",))
        assert settings_of(only(text, X=str(value))) == wanted


PARTS = (
    *(
        "services:\n",
        "  a:\n",
        "    image: vllm/vllm-openai:v0.19.1\n",
        "    command: ",
        "apiVersion: v1\n",
    ),
    *(
        "kind: Pod\n",
        "spec:\n",
        "  containers:\n",
        "  - name: a\n",
        "    args: [",
        "]\n",
        "--x ",
        "$X ",
    ),
    *(
        "vllm serve m ",
        "--max-num-seqs ",
        "8 ",
        "\n",
        "'",
        '"',
        "{",
        "}",
        "EOF\n",
        "<<EOF\n",
        "$((1+",
        "))",
    ),
    *(
        "FROM x\n",
        "CMD ",
        "ENV A=b\n",
        "[Service]\n",
        "ExecStart=",
        "run: |\n  ",
        "resources: {}\n",
    ),
    *(
        "prefill: ",
        "decode: ",
        "{max-num-seqs: 8}\n",
        "engine_kwargs: ",
        "if [ a ]; then ",
        "fi\n",
        "else ",
    ),
    *(
        "case $X in ",
        "a) ",
        ";; ",
        "esac\n",
        "for i in 1 2; do ",
        "done\n",
        "f() { ",
        "}\n",
        "{{ x }}",
        "&a ",
        "*a ",
    ),
    *(
        "!!int ",
        "docker run ",
        "docker run -e ",
        "\\\n",
        "\ue000",
        "\ue001",
        "- ",
        ": ",
        "null",
        "  ",
        "python -m ",
    ),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14), st.sampled_from([None, "vllm", "tgi"]))
def test_any_text_is_read_or_refused_in_one_sentence(parts: list[str], engine: str | None) -> None:
    """Pieces of every kind in any order: deployments or one sentence, and no other exception."""
    text = "".join(parts)
    try:
        found = read_deployments(text, engine)
    except FileContentError as error:
        assert "\n" not in str(error)
        return
    assert found.deployments
    for one in found.deployments:
        assert not one.kind or one.engine is not None
        assert "\ue000" not in one.text or not one.kind
    with contextlib.suppress(ProjectError):
        answers(text, Asked(engine))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_marks_come_back_as_they_are_written(text: str) -> None:
    """A short reference survives; nothing of it is left for other readers."""
    short = " ".join(text.split())
    if len(short) <= 60 and not any("\ue000" <= sign <= "\ue1ff" for sign in short):
        assert written(f"a{mark(short)}b") == f"a{short}b"
    assert not set("$ {}'\"\\") & set(mark_of("X") + mark("$((a + 1))"))


@pytest.mark.parametrize(
    "text",
    [
        "services: {a: &a {b: *a}}",
        "apiVersion: v1\nkind: List\nitems: &a [*a]",
        "A=" + "${X:-" * 3000 + "}" * 3000 + "\nvllm serve m $A",
        "vllm serve m " + "$(" * 2000,
        "vllm serve m " + "(" * 5000,
        "if true; then " * 3000 + "vllm serve m",
        "bash -c " * 2000 + "'vllm serve m'",
        "vllm serve 'm --x\n" * 1000,
    ],
)
def test_depth_is_bounded(text: str) -> None:
    """Nesting without end is walked or refused in one sentence."""
    with contextlib.suppress(FileContentError):
        read_deployments(text)
