"""Variables of a script, and what words become with them.

What nothing sets becomes a mark (core.deploy.marks), never an empty text: `${X}` without a value is
asked for by name. A default that the text itself gives (`${X:-8}`) is taken.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from core.deploy.marks import is_marked, mark, mark_of, mark_of_command
from core.deploy.shell.arithmetic import evaluated
from core.deploy.shell.budget import MOST_WORD_CHARS, Budget
from core.deploy.shell.lexer import expansion_end, tokens
from core.deploy.shell.tokens import DOUBLE, PLAIN, SINGLE, Heredoc, Operator, Word
from core.errors import FileContentError

Value = str | list[str]

_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?\d]")
_BRACED = re.compile(r"(#?)([A-Za-z_]\w*|[@*\d])(\[[^\]]*\])?(.*)\Z", re.DOTALL)
_DEFAULT = re.compile(r"(:?)([-=+?])(.*)\Z", re.DOTALL)


@dataclass
class Scope:
    """variables : text, or a list for an array. given : those the user gave; they stay.

    exported : names that a started command sees; arguments : $@, None where unknown
    """

    variables: dict[str, Value] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    arguments: list[str] | None = None
    exported: set[str] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)

    def value(self, name: str) -> Value | None:
        """What a variable or an argument of the script holds; None where nothing sets it."""
        if name.isdigit() and self.arguments is not None:
            place = int(name) - 1
            return self.arguments[place] if 0 <= place < len(self.arguments) else ""
        return self.given.get(name, self.variables.get(name))

    @property
    def environment(self) -> dict[str, str]:
        """What a started command sees."""
        known = ((name, self.value(name)) for name in self.exported)
        return {name: value for name, value in known if isinstance(value, str)}

    def set(self, name: str, value: Value) -> None:
        self.variables[name] = value

    def words(self, word: Word) -> list[str]:
        """The words that one written word becomes."""
        fields: list[str] = []
        current, open_ = "", False
        for piece in word.pieces:
            if piece.quote == SINGLE:
                current, open_ = current + piece.text, True
                continue
            for kind, value in self._segments(piece.text):
                parts = _parts(kind, value, piece.quote == PLAIN)
                open_ = open_ or bool(parts)
                if parts:
                    fields += [current + parts[0], *parts[1:-1]] if len(parts) > 1 else []
                    current = parts[-1] if len(parts) > 1 else current + parts[0]
            open_ = open_ or (piece.quote == DOUBLE and not _only_list(piece.text))
        fields += [current] if open_ or current else []
        self._bounded(fields)
        return fields

    def text(self, text: str) -> str:
        """A text with its references replaced, as in a heredoc or between double quotes."""
        joined = "".join(
            " ".join(value) if isinstance(value, list) else value
            for _, value in self._segments(text)
        )
        self._bounded([joined])
        return joined

    def _bounded(self, texts: list[str]) -> None:
        """Raises FileContentError for words that grow beyond what any command line holds."""
        chars = sum(map(len, texts)) + len(texts)
        self.budget.spend(chars)
        if chars > 8 * MOST_WORD_CHARS or any(len(text) > MOST_WORD_CHARS for text in texts):
            raise FileContentError(
                "The shell text grows beyond any command line; give the command."
            )

    def _segments(self, text: str) -> Iterator[tuple[str, Value]]:
        """("literal" or "value", what stands there)."""
        at = 0
        while at < len(text):
            found = re.compile(r"[$`]").search(text, at)
            if found is None:
                break
            if found.start() > at:
                yield "literal", text[at : found.start()]
            end = _end(text, found.start())
            if end == found.start() + 1:
                yield "literal", text[found.start()]
            else:
                yield "value", self._reference(text[found.start() : end])
            at = end
        if at < len(text):
            yield "literal", text[at:]

    def _reference(self, source: str) -> Value:
        if source.startswith("$(("):
            return self._sum(source)
        if source.startswith("$("):
            return self._output(source[2:-1])
        if source.startswith("`"):
            return self._output(source[1:-1])
        if source.startswith("${"):
            return self._braced(source[2:-1])
        return self._plain(source[1:])

    def _plain(self, name: str) -> Value:
        if name in ("@", "*"):
            return mark("$@") if self.arguments is None else list(self.arguments)
        value = self.value(name)
        if value is None:
            return mark_of(name)
        return value if isinstance(value, str) else (value[0] if value else "")

    def _sum(self, source: str) -> str:
        inside = self.text(source[3:-2])
        names = re.compile(r"[A-Za-z_]\w*")
        if not is_marked(inside):
            inside = names.sub(lambda m: str(self._plain(m[0])), inside)
        result = None if is_marked(inside) else evaluated(inside)
        return mark(f"$(({source[3:-2].strip()}))") if result is None else str(result)

    def _output(self, command: str) -> str:
        """Of `cat <<EOF` and `echo`, the text; any other command is not run."""
        try:
            found = tokens(command)
        except FileContentError:
            return mark_of_command(command)
        words = [token for token in found if isinstance(token, Word)]
        heredocs = [token for token in found if isinstance(token, Heredoc)]
        others = [t for t in found if not isinstance(t, Word | Heredoc)]
        plain = all(isinstance(t, Operator) and t.text == "\n" for t in others)
        if plain and heredocs and [word.bare for word in words] == ["cat"]:
            body = heredocs[-1].body
            return (self.text(body) if heredocs[-1].expand else body).rstrip("\n")
        if plain and words and words[0].bare == "echo" and not heredocs:
            return " ".join(text for word in words[1:] for text in self.words(word))
        return mark_of_command(command)

    def _braced(self, inside: str) -> Value:
        match = _BRACED.match(inside)
        if match is None:
            return mark(f"${{{inside}}}")
        count, name, index, rest = match.groups()
        value = self._indexed(name, index)
        default = _DEFAULT.match(rest)
        if count and not rest:
            return mark_of(name) if value is None else str(len(value))
        if default:
            return self._default(name, value, *default.groups())
        if value is None:
            return mark("$@") if name in "@*" else mark_of(name)
        return value if not rest else _changed(value, rest, inside)

    def _indexed(self, name: str, index: str | None) -> Value | None:
        value = self.arguments if name in ("@", "*") else self.value(name)
        if index in ("[@]", "[*]"):
            return [value] if isinstance(value, str) else value
        if isinstance(value, list) and name not in ("@", "*"):
            place = (index or "[0]")[1:-1]
            return value[int(place)] if place.isdigit() and int(place) < len(value) else None
        return value

    def _default(self, name: str, value: Value | None, colon: str, sign: str, word: str) -> Value:
        empty = value is None or (colon == ":" and value in ("", []))
        if sign == "+":
            return "" if empty else self._inner(word)
        if not empty:
            assert value is not None
            return value
        if sign == "?":
            return mark_of(name)
        text = self._inner(word)
        if sign == "=":
            self.set(name, text)
        return text

    def _inner(self, word: str) -> str:
        """The word of a default, whose own quotes go."""
        try:
            found = tokens(word)
        except FileContentError:
            return self.text(word)
        if all(isinstance(token, Word) for token in found) and ("'" in word or '"' in word):
            words = [token for token in found if isinstance(token, Word)]
            return " ".join(text for word in words for text in self.words(word))
        return self.text(word)


def _parts(kind: str, value: Value, splits: bool) -> list[str]:
    """One text, or several words; a value outside quotes is split at blanks."""
    if kind == "literal" and isinstance(value, str):
        return [value]
    texts = value if isinstance(value, list) else [value]
    if not splits:
        return texts
    joined = " ".join(texts)
    words = joined.split()
    if not words:
        return []
    return ([""] if joined[:1].isspace() else []) + words + ([""] if joined[-1:].isspace() else [])


def _only_list(text: str) -> bool:
    """Whether a quoted piece is nothing but "$@" or "${x[@]}", which may become no word at all."""
    return re.fullmatch(r"\$(?:@|\{[^}]*\[@\][^}]*\}|\{@\})", text) is not None


def _end(text: str, at: int) -> int:
    """Past the reference that starts at a dollar or a back-tick."""
    if text[at] == "`" or text[at + 1 : at + 2] in ("(", "{"):
        return expansion_end(text, at)
    name = _NAME.match(text, at + 1)
    return name.end() if name else at + 1


def _changed(value: Value, rest: str, inside: str) -> Value:
    """${X%..}, ${X#..}, ${X/a/b}, ${X^^}, ${X,,}; a mark for any other change."""
    if isinstance(value, list):
        return mark(f"${{{inside}}}")
    if rest in ("^^", ",,"):
        return value.upper() if rest == "^^" else value.lower()
    match = re.match(r"(%%|%|##|#)(.*)\Z", rest, re.DOTALL)
    if match:
        return _cut(value, match[1], match[2])
    match = re.match(r"(//?)([^/]*)/?(.*)\Z", rest, re.DOTALL)
    if match and not set(match[2]) & set("*?["):
        return value.replace(match[2], match[3], -1 if match[1] == "//" else 1)
    return mark(f"${{{inside}}}")


def _cut(value: str, sign: str, pattern: str) -> str:
    """Without the shortest or longest beginning or end that matches."""
    places = range(len(value) + 1)
    if sign[0] == "#":
        fits = [i for i in places if fnmatch.fnmatchcase(value[:i], pattern)]
        return value[(fits[-1] if sign == "##" else fits[0]) :] if fits else value
    fits = [i for i in places if fnmatch.fnmatchcase(value[i:], pattern)]
    return value[: (fits[0] if sign == "%%" else fits[-1])] if fits else value
