"""Which line of a traceback made the call: the frames of a text, and what their code does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from core.failures.capture_errors import Rule

_FRAME = re.compile(r'File "?([^",\n]+?)"?,? line (\d+)(?:, in ([^\s:]+))?:?\s*(.*)$')
_LIBRARY = re.compile(r"site-packages|dist-packages|[/\\]torch[/\\]|lib/python3")
_PREFIX = re.compile(r"^\s*(?:\([^)]*\)\s*)?(?:[A-Z]+ [\d:. -]+\[[^\]]*\]\s*)?")
MOST_FRAMES = 200


@dataclass(frozen=True)
class CallSite:
    """A line of code: file name, number, what stands there (may be empty)."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" + (f": {self.code}" if self.code else "")


@dataclass(frozen=True)
class Clue:
    """Code that tells why a call is forbidden."""

    klass: str
    pattern: re.Pattern[str]
    cause: str
    remedy: str


_SYNC = "Compute on the device and keep the value there (where, masks), or read it before capture."

CLUES: tuple[Clue, ...] = (
    Clue(
        "data_dependent_shape",
        re.compile(
            r"\b(?:nonzero(?!_static)|masked_select|unique|unique_consecutive|bincount|argwhere)\("
            r"|repeat_interleave\((?!.*output_size)"
        ),
        "The shape of a result depends on values, so the host must read them first.",
        "Use where, a mask, a top-k of fixed size, nonzero_static or output_size=.",
    ),
    Clue(
        "event_query",
        re.compile(r"\.query\(|elapsed_time\("),
        "An event or a stream was queried while capturing.",
        "Do not query while capturing; time with events outside of the graph.",
    ),
    Clue(
        "allocation",
        re.compile(r"empty_cache\(|cudaMalloc|cudaFree|pin_memory\(|\.pin_memory\b"),
        "Memory was allocated or released outside of the graph's pool.",
        "Allocate before the capture, and release after it.",
    ),
    Clue(
        "host_sync",
        re.compile(r"\.item\(|\.tolist\(|\bbool\(|\bprint\(|\.numpy\("),
        "A value is read on the host: the call waits for the device, which a capture forbids.",
        _SYNC,
    ),
    Clue(
        "host_sync",
        re.compile(r"\.cpu\(|\.to\(\s*(?:device\s*=\s*)?[\"']cpu"),
        "A tensor is copied to the host during the capture, and the host waits for it.",
        "Copy after the replay, outside of the graph; inside, keep the work on the device.",
    ),
    Clue(
        "host_sync",
        re.compile(r"synchronize\("),
        "The host waits for the device inside the captured region.",
        "Leave it out: work on one stream runs in order. Between streams use events.",
    ),
    Clue(
        "h2d_copy",
        re.compile(r"torch\.(?:as_)?tensor\(.*device|\.cuda\(|\.to\(\s*[\"']cuda"),
        "A tensor is created or moved from pageable host memory inside the region.",
        "Allocate on the device before the capture and refill with copy_ before each replay.",
    ),
)


class Frames:
    """The frames since the last error, outermost first, as they come line by line.

    awaits_code : the next line is the code of the last frame
    """

    def __init__(self) -> None:
        self._sites: list[CallSite] = []
        self.awaits_code = False

    def take(self, line: str) -> bool:
        """True where the line belongs to a traceback's frame."""
        match = _FRAME.search(line) if "File " in line else None
        if match:
            file, number, _, code = match.groups()
            self._sites = [*self._sites[-MOST_FRAMES:], CallSite(file, int(number), code.strip())]
            self.awaits_code = not code.strip()
            return True
        if self.awaits_code:
            self.awaits_code = False
            code = _PREFIX.sub("", line).strip()
            self._sites[-1] = replace(self._sites[-1], code=code)
            return True
        return False

    def clear(self) -> None:
        self._sites.clear()
        self.awaits_code = False

    def site(self) -> CallSite | None:
        """The innermost frame of the user's own code; of a library where there is no other."""
        own = [site for site in self._sites if not _LIBRARY.search(site.file)]
        found = (own or self._sites)[-1:]
        return replace(found[0], file=_file_name(found[0].file)) if found else None

    def explained(self, rule: Rule) -> Rule:
        """The rule with what the code says about it: innermost frame first."""
        for site in reversed(self._sites):
            for clue in CLUES:
                if clue.pattern.search(site.code):
                    return replace(rule, klass=clue.klass, cause=clue.cause, remedy=clue.remedy)
        return rule


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]
