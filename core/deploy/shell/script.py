"""A script walked line by line: assignments kept, files of heredocs kept, commands handed on.

Nothing is run. Branches whose condition the file decides are followed or left; what stands under
any other condition is handed on with that condition, and does not change what is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from core.deploy.marks import mark_of, written
from core.deploy.shell.blocks import Block, Blocks
from core.deploy.shell.conditions import holds, matches
from core.deploy.shell.lexer import tokens
from core.deploy.shell.lines import Line, Reader
from core.deploy.shell.scope import Scope
from core.deploy.shell.tokens import Array, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)\Z", re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*")
_DECLARES = ("export", "declare", "local", "readonly", "typeset")
_ENDS = ("\n", ";", "&", "&&", "||", "|", "|&", ";;", "(", ")")
_WRITERS = ("cat", "tee", "echo", "printf")


@dataclass(frozen=True)
class Command:
    """One command that the script would run.

    words : expanded; env : the variables in force; condition : the undecided one it stands under
    body : its heredoc, expanded; names : the variables that its words go back to
    """

    words: tuple[str, ...]
    env: Mapping[str, str]
    line: int
    condition: str = ""
    body: str | None = None
    names: frozenset[str] = frozenset()


@dataclass
class Script:
    """files : {path: text} of what the script writes.

    notes : what was not understood, as (the variable it is about, a sentence)
    sources : {variable: those that its value goes back to}
    """

    scope: Scope
    files: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    blocks: Blocks = field(default_factory=Blocks)
    chain: Block = field(default_factory=lambda: Block("chain"))

    def commands(self, text: str) -> Iterator[Command]:
        """The commands in order. Raises FileContentError for a text that cannot be split."""
        reader = Reader(tokens(text))
        while (line := reader.next_line()) is not None:
            for token_line in self._structure(line, reader):
                yield from self._chained(token_line, reader.ended)

    def _chained(self, line: Line, ended: str) -> Iterator[Command]:
        """A command of `a && b || c`, which is reached by what the one before returns."""
        self.blocks.open(self.chain)
        reached = self.blocks.reached
        yield from self._command(line)
        self.blocks.close("chain")
        self.chain = _next_in_chain(self.chain, line, ended, self.scope, reached)

    def _structure(self, line: Line, reader: Reader) -> Iterator[Line]:
        """Follow reserved words; hand on what is a command."""
        while line.words:
            word = line.words[0].bare
            rest = replace(line, words=line.words[1:])
            if word in ("if", "elif"):
                self._condition(word, rest, reader)
                return
            if word in ("while", "until"):
                reader.until("do", rest)
                self.blocks.open(Block("loop"))
                return
            if word == "for":
                self._loop(rest, reader)
                return
            if word == "case":
                self._case(rest, reader)
                return
            if word not in _SIGNS:
                break
            _SIGNS[word](self.blocks)
            line = rest
        last = self.blocks.last
        if reader.ended == ";;" and last is not None and last.kind == "case":
            yield line
            self._pattern(reader)
            return
        if reader.ended == "(" and len(line.words) <= 2 and reader.take(")"):
            return  # name() { ... }: the body is read where it stands
        if not line.empty:
            yield line

    def _condition(self, word: str, first: Line, reader: Reader) -> None:
        """if and elif: the commands up to `then`."""
        lines = reader.until("then", first)
        result: bool | None = None
        text = " ".join(written(w.raw) for line in lines for w in line.words)
        if len(lines) == 1:
            result = holds([t for w in lines[0].words for t in self.scope.words(w)])
        block = self.blocks.last if word == "elif" else None
        block = block or self.blocks.open(Block("if"))
        block.branch(result, text)

    def _loop(self, line: Line, reader: Reader) -> None:
        """for X in a b: read once, with the first of the list."""
        reader.until("do", Line())
        self.blocks.open(Block("loop"))
        name = line.words[0].bare if line.words else ""
        values = [text for word in line.words[2:] for text in self.scope.words(word)]
        if not name.isidentifier() or self.blocks.reached is False:
            return
        self.scope.set(name, values[0] if values else mark_of(name))
        if len(values) > 1:
            shown = ", ".join(written(value) for value in values[:4])
            where = f"line {line.words[0].line}"
            text = f"{where}: the loop over {name} ({shown}) is read once, with the first"
            self.notes.append((name, text))

    def _case(self, line: Line, reader: Reader) -> None:
        word = "".join(self.scope.words(line.words[0])) if line.words else ""
        self.blocks.open(Block("case", state=False, word=word))
        self._pattern(reader)

    def _pattern(self, reader: Reader) -> None:
        """The patterns of the next branch of a case, up to their bracket; or its end."""
        block = self.blocks.last
        assert block is not None
        patterns = reader.patterns()
        if patterns is None:
            self.blocks.close("case")
            return
        texts = ["".join(self.scope.words(word)) for word in patterns]
        shown = " | ".join(map(written, texts))
        block.branch(matches(block.word, texts), f"{written(block.word)} is {shown}")

    def _command(self, line: Line) -> Iterator[Command]:
        reached = self.blocks.reached
        if reached is False:
            return
        for array in line.arrays:
            self._assign_array(array)
            before = self.sources.get(array.name, frozenset()) if array.append else frozenset()
            self.sources[array.name] = before | self._names(array.words)
        words = list(line.words)
        assigned: dict[str, str] = {}
        while words and (match := _ASSIGNMENT.match(words[0].raw)) and _starts_plain(words[0]):
            self.sources[match[1]] = self._names(words[:1])
            value = "".join(self._value(words.pop(0)))
            assigned[match[1]] = (str(self.scope.value(match[1]) or "") if match[2] else "") + value
        texts = [text for word in words for text in self.scope.words(word)]
        if not texts:
            for name, value in assigned.items():
                self._assign(name, value, line)
            return
        body = self._body(line)
        if self._kept(texts, line, body, words):
            return
        env = {**self.scope.environment, **assigned}
        at = words[0].line if words else 0
        names = self._names(words)
        yield Command(tuple(texts), env, at, self.blocks.condition, body, names)

    def _names(self, words: Iterable[Word]) -> frozenset[str]:
        """The variables that these words name, and those behind them."""
        found = {name for word in words for name in _NAMES.findall(word.raw) if "$" in word.raw}
        behind = (self.sources.get(name, frozenset()) for name in found)
        return frozenset(found).union(*behind)

    def _value(self, word: Word) -> list[str]:
        """What follows the equals sign of an assignment; it is not split."""
        texts = self.scope.words(word)
        joined = " ".join(texts)
        return [joined.partition("=")[2]]

    def _body(self, line: Line) -> str | None:
        if line.heredoc is None:
            return None
        body = line.heredoc.body
        return self.scope.text(body) if line.heredoc.expand else body

    def _assign(self, name: str, value: str, line: Line) -> None:
        """Under an undecided condition a variable has no value that one could state."""
        if self.blocks.reached is None and name not in self.scope.given:
            at = line.words[0].line if line.words else 0
            before = self.scope.value(name)
            self.scope.set(name, mark_of(name))
            if before != value:
                text = f"line {at}: {name} is {written(value)!r} only if {self.blocks.condition}"
                self.notes.append((name, text))
            return
        self.scope.set(name, value)

    def _assign_array(self, array: Array) -> None:
        values = [text for word in array.words for text in self.scope.words(word)]
        before = self.scope.value(array.name)
        if self.blocks.reached is None:
            shown = " ".join(written(value) for value in values)
            what = "gains" if array.append else "is"
            text = f"line {array.line}: {array.name} {what} {shown} only if {self.blocks.condition}"
            self.notes.append((array.name, f"{text}; not read"))
            if not array.append:
                self.scope.set(array.name, mark_of(array.name))
            return
        if array.append and before is not None:
            values = [*([before] if isinstance(before, str) else before), *values]
        self.scope.set(array.name, values)

    def _kept(self, texts: list[str], line: Line, body: str | None, words: list[Word]) -> bool:
        """Whether the command only sets something here: a variable, an argument or a file."""
        name = texts[0]
        if name in _DECLARES:
            if name == "export" or "-x" in texts:
                self.scope.exported |= {text.partition("=")[0] for text in texts[1:]}
            for word in words[1:]:
                match = _ASSIGNMENT.match(word.raw)
                if match:
                    self._assign(match[1], "".join(self._value(word)), line)
            return True
        if texts[:2] == ["set", "--"]:
            self.scope.arguments = texts[2:]
            return True
        if name == "unset":
            for gone in texts[1:]:
                self.scope.variables.pop(gone, None)
            return True
        if name == "read" and body is not None:
            self._assign(texts[-1], body.rstrip("\n"), line)
            return True
        return self._written_file(texts, line, body)

    def _written_file(self, texts: list[str], line: Line, body: str | None) -> bool:
        """cat > FILE <<EOF, tee FILE <<EOF, echo TEXT > FILE."""
        plain = texts[1:] if texts[0] == "sudo" else texts
        if not plain or plain[0] not in _WRITERS:
            return False
        targets = [r for r in line.redirects if r.text.lstrip("0123456789") in (">", ">>", ">|")]
        paths = [(r.text, "".join(self.scope.words(r.target))) for r in targets]
        if plain[0] == "tee":
            sign = ">>" if "-a" in plain else ">"
            paths = [(sign, word) for word in plain[1:] if not word.startswith("-")]
        text = body
        if text is None and plain[0] in ("echo", "printf"):
            text = " ".join(word for word in plain[1:] if word not in ("-e", "-n")) + "\n"
            text = text.replace("\\n", "\n")
        if text is None:
            return plain[0] == "echo"
        for sign, path in paths:
            self._write(path, text, sign.endswith(">>"), line)
        return bool(paths) or plain[0] in ("echo", "printf")

    def _write(self, path: str, text: str, append: bool, line: Line) -> None:
        """A file as the script leaves it; what an undecided condition adds to it is said."""
        at = line.words[0].line if line.words else 0
        if self.blocks.reached is None:
            what = "gains lines" if append else "is written so"
            why = f"line {at}: {written(path)} {what} only if {self.blocks.condition}"
            self.notes.append((path, f"{why}; not read" if append else why))
            if append:
                return
        self.files[path] = (self.files.get(path, "") if append else "") + text


def _next_in_chain(
    chain: Block, line: Line, ended: str, scope: Scope, reached: bool | None
) -> Block:
    """How the command after && or || is reached. A command that is no test is taken to succeed
    before &&, and as unknown before ||."""
    if ended not in ("&&", "||"):
        return Block("chain")
    texts = [text for word in line.words for text in scope.words(word)]
    text = " ".join(map(written, texts))
    result = True if ended == "&&" or _only_assigns(line) else None
    if texts[:1] in (["["], ["[["], ["test"], ["true"], ["false"]):
        result = holds(texts)
    if reached is False:  # not run: what was returned before still stands
        result = None if chain.state is None else ended == "||"
        return Block("chain", state=None if result is None else True)
    if ended == "||":
        result = None if result is None else not result
        text = f"not {text}"
    return Block("chain", state=result, condition=text)


def _only_assigns(line: Line) -> bool:
    return all(_ASSIGNMENT.match(word.raw) and _starts_plain(word) for word in line.words)


def _starts_plain(word: Word) -> bool:
    """Whether the name before the equals sign is not quoted."""
    return bool(word.pieces) and not word.pieces[0].quote and "=" in word.pieces[0].text


def _otherwise(blocks: Blocks) -> None:
    if blocks.last is not None and blocks.last.kind == "if":
        blocks.last.otherwise()


_SIGNS = {
    "then": lambda blocks: None,
    "do": lambda blocks: None,
    "else": _otherwise,
    "fi": lambda blocks: blocks.close("if"),
    "done": lambda blocks: blocks.close("loop"),
    "esac": lambda blocks: blocks.close("case"),
    "{": lambda blocks: None,
    "}": lambda blocks: None,
    "!": lambda blocks: None,
    "time": lambda blocks: None,
    "function": lambda blocks: None,
}
"""Reserved words that stand before a command."""
