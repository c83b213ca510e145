"""if, for, while, case and functions: which lines of a script are reached."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Block:
    """One open block.

    kind : "if", "loop", "case" or "group"
    state : whether its lines are reached now; None where that depends on what the file cannot say
    settled : a branch before was certainly taken; open : one before may have been
    condition : the words of the condition, as written, for notes
    """

    kind: str
    state: bool | None = True
    settled: bool = False
    open: bool = False
    condition: str = ""
    word: str = ""

    def branch(self, holds: bool | None, condition: str = "") -> None:
        """Enter a branch whose own condition holds, does not, or is not known."""
        self.condition = condition or self.condition
        if self.settled or holds is False:
            self.state = False
        elif holds is None or self.open:
            self.state, self.open = None, True
        else:
            self.state, self.settled = True, True

    def otherwise(self) -> None:
        """Enter the branch that is left."""
        self.state = False if self.settled else (None if self.open else True)
        self.condition = f"not {self.condition}" if self.condition else ""


@dataclass
class Blocks:
    """The open blocks, outermost first."""

    stack: list[Block] = field(default_factory=list)

    @property
    def reached(self) -> bool | None:
        """True, False, or None where a block around is undecided."""
        states = [block.state for block in self.stack]
        return False if False in states else (None if None in states else True)

    @property
    def condition(self) -> str:
        """The undecided conditions around, as written."""
        texts = [block.condition for block in self.stack if block.state is None]
        return " and ".join(text for text in texts if text)

    def open(self, block: Block) -> Block:
        self.stack.append(block)
        return block

    def close(self, *kinds: str) -> None:
        """Close the innermost block, where it is of one of these kinds."""
        if self.stack and self.stack[-1].kind in kinds:
            self.stack.pop()

    @property
    def last(self) -> Block | None:
        return self.stack[-1] if self.stack else None
