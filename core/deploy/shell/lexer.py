"""A script's text -> tokens. Expansions stay inside the words; nothing is evaluated."""

from __future__ import annotations

import re

from core.deploy.shell.tokens import (
    DOUBLE,
    SINGLE,
    Array,
    Heredoc,
    Operator,
    Piece,
    Redirect,
    Token,
    Word,
)
from core.errors import FileContentError

_OPERATORS = (";;", "&&", "||", "|&", ";", "&", "|", "(", ")", "\n")
_REDIRECT = re.compile(r"(\d*)(<<<|&>>|&>|>\||>>|>&|<&|<<-?|>|<)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=\Z")
_ENDS_WORD = set(" \t\n;&|()<>")


def expansion_end(text: str, at: int) -> int:
    """Past the expansion that starts at a dollar or a back-tick; the next character for none."""
    try:
        return _Lexer(text)._expansion_end(at)
    except FileContentError:
        return at + 1


def tokens(text: str) -> list[Token]:
    """Raises FileContentError for a quote or bracket that is not closed, with its line."""
    return _Lexer(text.replace("\r\n", "\n").replace("\r", "\n")).all()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1
        self.found: list[Token] = []
        self.waiting: list[Heredoc] = []

    def all(self) -> list[Token]:
        while self._skip_blanks():
            if not self._operator() and not self._redirect():
                word = self._word()
                if not self._array(word):
                    self.found.append(word)
        return self.found

    def _skip_blanks(self) -> bool:
        """Past spaces, joined lines and comments; False at the end."""
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self.at, self.line = self.at + 2, self.line + 1
            elif self.text[self.at] in " \t":
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def _operator(self) -> bool:
        for sign in _OPERATORS:
            if self.text.startswith(sign, self.at):
                if sign == "&" and self.text[self.at + 1 : self.at + 2] == ">":
                    return False
                self.found.append(Operator(sign, self.line))
                self.at += len(sign)
                if sign == "\n":
                    self.line += 1
                    self._bodies()
                return True
        return False

    def _redirect(self) -> bool:
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return False
        line, self.at = self.line, match.end()
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        target = self._word() if self.at < len(self.text) else Word((), line)
        if match[2] in ("<<", "<<-"):
            heredoc = Heredoc(target.raw, target.bare != "", match[2] == "<<-", line)
            self.waiting.append(heredoc)
            self.found.append(heredoc)
        else:
            self.found.append(Redirect(match[2], target, line))
        return True

    def _bodies(self) -> None:
        """The lines that belong to the heredocs of the line before."""
        for heredoc in self.waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at, self.line = end + 1, self.line + 1
                line = line.lstrip("\t") if heredoc.strip else line
                if line == heredoc.end:
                    break
                lines.append(line)
            heredoc.body = "".join(f"{line}\n" for line in lines)
        self.waiting = []

    def _word(self) -> Word:
        pieces: list[Piece] = []
        line, plain = self.line, ""
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_WORD:
            sign = self.text[self.at]
            if sign in "\\'\"" or self.text.startswith("$'", self.at):
                pieces += [Piece(plain)] if plain else []
                plain = ""
                pieces += self._quoted(sign)
                continue
            end = self._expansion_end(self.at)
            plain += self.text[self.at : end]
            self._advance(end)
        pieces += [Piece(plain)] if plain else []
        return Word(tuple(pieces), line)

    def _quoted(self, sign: str) -> list[Piece]:
        if sign == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self._advance(self.at + 2)
            return [] if escaped == "\n" else [Piece(escaped, SINGLE)]
        if sign == '"':
            return self._double()
        if sign == "$":
            self.at += 1
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self._open("quote")
        body = self.text[self.at + 1 : end]
        self._advance(end + 1)
        return [Piece(body, SINGLE)]

    def _double(self) -> list[Piece]:
        start, part = self.line, ""
        pieces: list[Piece] = []
        self.at += 1
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == '"':
                self.at += 1
                return [*pieces, Piece(part, DOUBLE)]
            if sign == "\\" and self.text[self.at + 1 : self.at + 2] in ("\n", "$", '"', "\\", "`"):
                escaped = self.text[self.at + 1]
                pieces += [Piece(part, DOUBLE)] if part else []
                pieces += [] if escaped == "\n" else [Piece(escaped, SINGLE)]
                part = ""
                self._advance(self.at + 2)
                continue
            end = self._expansion_end(self.at)
            part += self.text[self.at : end]
            self._advance(end)
        self.line = start
        raise self._open("quote")

    def _expansion_end(self, at: int) -> int:
        """Where the expansion that starts here ends; the next character for any other."""
        if self.text.startswith("$(", at):
            return self._closed(at + 1, "(", ")")
        if self.text.startswith("${", at):
            return self._closed(at + 1, "{", "}")
        if self.text[at] == "`":
            end = self.text.find("`", at + 1)
            if end < 0:
                raise self._open("`")
            return end + 1
        return at + 1

    def _closed(self, at: int, opens: str, closes: str) -> int:
        """Past the bracket that closes the one at `at`; quotes and heredocs inside are skipped."""
        depth = 0
        while at < len(self.text):
            sign = self.text[at]
            if sign == "\\":
                at += 1
            elif sign == "'" and opens == "(":
                at = self._find("'", at + 1)
            elif sign == '"':
                at = self._quote_end(at)
            elif opens == "(" and (end := self._heredoc_end(at)):
                at = end
                continue
            elif sign == opens:
                depth += 1
            elif sign == closes:
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        raise self._open(f"bracket {opens}")

    def _quote_end(self, at: int) -> int:
        at += 1
        while at < len(self.text) and self.text[at] != '"':
            at += 2 if self.text[at] == "\\" else 1
        if at >= len(self.text):
            raise self._open("quote")
        return at

    def _heredoc_end(self, at: int) -> int:
        match = re.compile(r"<<(-?)\s*(['\"]?)(\w+)\2[^\n]*\n").match(self.text, at)
        if match is None or self.text[at - 1 : at] == "<":
            return 0
        tabs = r"\t*" if match[1] else ""
        end = re.compile(rf"^{tabs}{match[3]}$", re.MULTILINE).search(self.text, match.end())
        return end.end() if end else len(self.text)

    def _find(self, sign: str, at: int) -> int:
        end = self.text.find(sign, at)
        if end < 0:
            raise self._open("quote")
        return end

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def _array(self, word: Word) -> bool:
        """NAME=( ... ): the words up to the bracket that closes."""
        match = _ASSIGNED.match(word.bare)
        if match is None or self.text[self.at : self.at + 1] != "(":
            return False
        end = self._closed(self.at, "(", ")")
        inside = tokens(self.text[self.at + 1 : end - 1])
        words = tuple(token for token in inside if isinstance(token, Word))
        self._advance(end)
        self.found.append(Array(match[1], bool(match[2]), words, word.line))
        return True

    def _open(self, what: str) -> FileContentError:
        return FileContentError(
            f"The shell text cannot be split: a {what} that opens on or after line {self.line} is "
            "not closed."
        )
