"""The shell reader: words as a shell makes them, conditions, loops, functions, heredocs."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.deploy.marks import written
from core.deploy.shell.arithmetic import evaluated
from core.deploy.shell.docker_run import docker_run
from core.deploy.shell.lexer import tokens
from core.deploy.shell.scope import Scope
from core.deploy.shell.script import Script
from core.deploy.shell.tokens import Word
from core.errors import FileContentError

SET = {"A": "x y", "B": "", "N": "4", "L": ["p", "q r"]}


def words(text: str, **variables) -> list[str]:
    scope = Scope({**SET, **variables})
    found = [token for token in tokens(text) if isinstance(token, Word)]
    return [written(one) for word in found for one in scope.words(word)]


def run(text: str) -> tuple[list[str], Script]:
    """The commands called `run`, and the script after them."""
    script = Script(Scope())
    found = [c for c in script.commands(text) if c.words[0] == "run"]
    return [" ".join(written(word) for word in c.words[1:]) for c in found], script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ("$A \"$A\" '$A' x$A", ["x", "y", "x y", "$A", "xx", "y"]),
        ('"" $B "$B" ${B:-8} ${B-8} ${B:+9}', ["", "", "8"]),
        (
            '${X:-8} ${X-7} ${X:-$N} ${X:-"a b"} $((N * 2)) $(( $N/3 ))',
            ["8", "7", "4", "a", "b", "8", "1"],
        ),
        ('"${L[@]}" ${L[1]} ${#L[@]} "${L[*]}"', ["p", "q r", "q", "r", "2", "p", "q r"]),
        (
            '$X ${X} "$X" $(nproc) $((X + 1)) `hostname`',
            ["${X}", "${X}", "${X}", "$(nproc)", "$((X + 1))", "$(hostname)"],
        ),
        (
            "${V%-*} ${V%%-*} ${V#v} ${V##*-} ${V/1/2} ${V^^}",
            ["v1-2", "v1", "1-2-3", "3", "v2-2-3", "V1-2-3"],
        ),
        ("a\\\nb c # d\ne", ["ab", "c", "e"]),
        ('$(echo a b) "$(cat <<X\n{"n": $N}\nX\n)"', ["a", "b", '{"n": 4}']),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Quotes, splitting, defaults, arrays; what nothing sets stays as it is written."""
    assert words(text, V="v1-2-3") == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash to compare with")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *("a", "b-1", "--x=2", " ", "  ", "'c d'", '"e f"', "\\ ", "\\$", "\\\\", '""'),
                *('"$A"', "${A}", "${B}", '"$B"', "${B:-8}", "${C:-9}", "${C-z}", "${N:+y}"),
                *("$((N+1))", "$((N*N-7/2))", '"${L[@]}"', "${L[@]}", "${L[0]}", '"x${L[@]}y"'),
                *("${#N}", "${A% *}", "${A#x }", '"\\"q\\""', "'\"'", '"\'"', "=", ",", "{"),
            ]
        ),
        max_size=9,
    )
)
def test_words_are_bash_words(parts: list[str]) -> None:
    """Any mix of quotes and expansions gives what bash gives."""
    text = "".join(parts)
    script = f"A='x y'; B=; N=4; L=(p 'q r'); printf '%s\\n' : {text}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert [":", *words(text)] == done.stdout.split("\n")[:-1]


@settings(deadline=None)
@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda t: f"({''.join(t)})"
        ),
        max_leaves=6,
    )
)
def test_sums(text: str) -> None:
    """Whole numbers with + - * and brackets."""
    assert evaluated(text) == eval(text)


def test_sums_by_hand() -> None:
    """Division goes towards zero, and what is no sum has no value."""
    assert [evaluated(t) for t in ("7/2", "-7/2", "-7%2", "2**10", "1<<4")] == [3, -3, -1, 1024, 16]
    assert [evaluated(t) for t in ("1/0", "a+1", "", "2**999", "__import__('os')")] == [None] * 5


def test_arrays_grow_and_conditions_decide() -> None:
    """A condition that the file decides is followed; the array keeps its words."""
    text = """
    MODE=fast
    ARGS=(--a "1 2")
    if [ "$MODE" = fast ]; then ARGS+=(--b); else ARGS+=(--c); fi
    [[ $MODE == f* ]] && ARGS+=(--d)
    [ -z "$UNSET" ] && SIZE=8
    case "$MODE" in slow) X=1 ;; fast|quick) X=2 ;; *) X=3 ;; esac
    run "${ARGS[@]}" $SIZE $X
    """
    found, script = run(text)
    assert found == ["--a 1 2 --b --d 8 2"]
    assert script.notes == []


def test_what_the_file_cannot_decide_changes_nothing_and_is_said() -> None:
    """An open condition leaves the array, and makes a variable open."""
    text = """
    ARGS=(--a)
    N=4
    if [ "$ROLE" = prefill ]; then
      ARGS+=(--eager)
      N=8
    fi
    run "${ARGS[@]}" $N
    """
    found, script = run(text)
    assert found == ["--a ${N}"]
    assert [name for name, _ in script.notes] == ["ARGS", "N"]
    assert all("$ROLE" in why for _, why in script.notes)


def test_branches_that_are_not_taken_start_nothing() -> None:
    """false, an else after true, and what follows || after a success that is certain."""
    text = "if false; then run 1; else run 2; fi\nA=1 || run 3\nfalse && run 4\ntrue && run 5"
    assert run(text)[0] == ["2", "5"]


def test_functions_loops_and_files() -> None:
    """A function is read where it stands, a loop once; heredocs and echo make files."""
    text = """
    go() { local P=$1; run --p $P; }
    for i in 3 5; do run $i; done
    cat > /tmp/a.yaml <<EOF
    n: ${i:-1}
    EOF
    echo 'b: 2' >> /tmp/a.yaml
    cat <<'END' | tee /tmp/c
    $i
END
    """.replace("\n    ", "\n")
    found, script = run(text)
    assert found == ["--p $1", "3"]
    assert script.files["/tmp/a.yaml"] == "n: 3\nb: 2\n"


def test_environment_is_what_is_exported() -> None:
    """Variables of the script are not those of the command, unless exported or in front of it."""
    script = Script(Scope())
    text = 'A=1\nexport B=2\nC=3 run\nset -- x y\nrun $1 "$@"'
    first, second = (c for c in script.commands(text) if c.words[0] == "run")
    assert first.env == {"B": "2", "C": "3"}
    assert second.words == ("run", "x", "x", "y")


@pytest.mark.parametrize("text", ["'a", '"a', "a $(b", "x ${y", "`z", "A=(1"])
def test_what_is_not_closed_is_one_sentence_with_its_line(text: str) -> None:
    with pytest.raises(FileContentError, match="line 2"):
        tokens(f"ok\n{text}")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab \n\t'\"$(){}[]<>|&;`\\=+*#!-8EOF@?%/", max_size=40))
def test_any_text_ends(text: str) -> None:
    """Whatever is written is walked to its end, or refused in one sentence."""
    try:
        list(Script(Scope()).commands(text))
    except FileContentError as error:
        assert "\n" not in str(error)


def test_growth_is_bounded() -> None:
    """Words that double are refused before they fill the memory."""
    doubling = "A=xxxxxxxx\n" + "A=$A$A\n" * 30 + "run $A"
    with pytest.raises(FileContentError, match="grows"):
        run(doubling)
    lists = 'L=("")\n' + 'L+=("${L[@]}")\n' * 40 + "run"
    with pytest.raises(FileContentError, match="grows"):
        run(lists)


def test_docker_run() -> None:
    """Options with and without value; the image is the first word that belongs to none."""
    found = docker_run(
        [
            "sudo",
            "docker",
            "run",
            "-itd",
            "--rm",
            "--gpus",
            "all",
            "-e",
            "A=1",
            "--env=B=2",
            "-p",
            "80:80",
            "--name",
            "n",
            "--entrypoint",
            "python3",
            "img:1",
            "-m",
            "mod",
            "--x",
        ]
    )
    assert found is not None
    assert (found.image, found.name, found.env) == ("img:1", "n", {"A": "1", "B": "2"})
    assert found.words == ("python3", "-m", "mod", "--x")
    assert docker_run(["docker", "ps"]) is None
    assert docker_run(["docker", "run", "-d"]) is None
