"""A script's tokens handed out command by command."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.deploy.shell.tokens import Array, Heredoc, Operator, Redirect, Token, Word


@dataclass
class Line:
    """The tokens of one simple command."""

    words: list[Word] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    heredoc: Heredoc | None = None

    @property
    def empty(self) -> bool:
        return not (self.words or self.arrays or self.heredoc)


class Reader:
    """Tokens, handed out command by command. ended : the operator that ended the last one."""

    def __init__(self, found: list[Token]) -> None:
        self.found, self.at, self.ended = found, 0, ""

    def next_line(self) -> Line | None:
        """The next simple command; None at the end."""
        if self.at >= len(self.found):
            return None
        line = Line()
        self.ended = ""
        while self.at < len(self.found):
            token = self.found[self.at]
            self.at += 1
            if isinstance(token, Operator):
                self.ended = token.text
                break
            _put(line, token)
        return line

    def until(self, sign: str, first: Line) -> list[Line]:
        """The commands before a reserved word, which is taken."""
        lines = [] if first.empty else [first]
        while self.at < len(self.found):
            token = self.found[self.at]
            if isinstance(token, Word) and token.bare == sign:
                self.at += 1
                break
            line = self.next_line()
            if line is not None and not line.empty:
                lines.append(line)
        return lines

    def take(self, sign: str) -> bool:
        """Whether this operator stands here; it is taken."""
        token = self.found[self.at] if self.at < len(self.found) else None
        if isinstance(token, Operator) and token.text == sign:
            self.at += 1
            return True
        return False

    def patterns(self) -> list[Word] | None:
        """The words before the bracket of a branch of case; None at esac or the end."""
        words: list[Word] = []
        while self.at < len(self.found):
            token = self.found[self.at]
            self.at += 1
            if isinstance(token, Operator) and token.text == ")":
                return words
            if isinstance(token, Word) and token.bare == "esac" and not words:
                return None
            if isinstance(token, Word) and token.bare != "in":
                words.append(token)
        return None


def _put(line: Line, token: Token) -> None:
    if isinstance(token, Word):
        line.words.append(token)
    elif isinstance(token, Array):
        line.arrays.append(token)
    elif isinstance(token, Redirect):
        line.redirects.append(token)
    elif isinstance(token, Heredoc):
        line.heredoc = token
