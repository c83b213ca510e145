"""How much a file may make the reader do: characters looked at, over all scripts in it."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import FileContentError

MOST_SCRIPT_CHARS = 2**18
MOST_WORD_CHARS = 2**17
"""No system takes a longer argument."""
MOST_WORK_CHARS = 2**22


@dataclass
class Budget:
    """left : characters that may still be made or looked at."""

    left: int = MOST_WORK_CHARS

    def spend(self, chars: int) -> None:
        """Raises FileContentError when nothing is left."""
        self.left -= chars
        if self.left < 0:
            raise FileContentError(
                "The script grows beyond any start of an engine; give the command that starts it."
            )


def check_script(text: str) -> None:
    """Raises FileContentError for a text longer than scripts are."""
    if len(text) > MOST_SCRIPT_CHARS:
        raise FileContentError(
            f"The script has {len(text):,} characters, more than {MOST_SCRIPT_CHARS:,}; give the "
            "part that starts the engine."
        )
