"""Which line of a traceback made the call: the frames of a text, and what their code does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from core.failures.capture_errors import Rule

_FRAME = re.compile(r'File "?([^",\n]+?)"?,? line (\d+)(?:,? in ([^\s:]+))?:?\s*(.*)$')
_LIBRARY = re.compile(
    r"site-packages|dist-packages|(?:^|[/\\])(?:torch|triton)[/\\]|lib/python3|<eval_with_key>"
    r"|torchinductor"
)
_INSTALLED = re.compile(r".*(?:site|dist)-packages[/\\]")
_ENGINES = (
    r"(?:vllm|vllm_ascend|sglang|tensorrt_llm|lmdeploy|text_generation_server|fastdeploy|minisgl"
    r"|nanovllm)[/\\]"
)
_PACKAGE = re.compile(_ENGINES)
_SOURCE = re.compile(rf"(?:^|[/\\]){_ENGINES}")
_LAUNCHER = re.compile(
    r"(?:^|[/\\])s?bin[/\\]|^<(?:frozen|string|stdin)|(?:^|[/\\])(?:runpy|threading|__main__|cli"
    r"|launch_server|launcher|api_server)\.py$|[/\\](?:multiprocessing|concurrent|asyncio"
    r"|uvloop|typer|click|entrypoints|cli|ray|grpc_interceptor)[/\\]"
)
_PRINTS = re.compile(r"_tensor_str\.py$|^(?:__repr__|__str__|__format__)$")
_DIGIT = re.compile(r"\d")
_AFTER_FRAME = re.compile(r'^File "|^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::|$)')
MOST_FRAMES = 200


@dataclass(frozen=True)
class CallSite:
    """A line of code: file, number, what stands there (may be empty), the function it is in."""

    file: str
    line: int
    code: str
    function: str = ""

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


PRINTED = Clue(
    "host_sync",
    _PRINTS,
    "A tensor is printed or logged: the host has to read its values, which a capture forbids.",
    "Take the print out of the captured step; it would not run at a replay either.",
)
NAMED: tuple[Clue, ...] = (
    replace(
        CLUES[0], pattern=re.compile(r"\bnonzero\b|\bmasked_select\b|nonzero_cuda|\bunique_?\w*\(")
    ),
    replace(CLUES[3], pattern=re.compile(r"_local_scalar_dense|memcpy_and_sync")),
)
"""Operations that a message or a native stack names."""


def is_library(site: CallSite) -> bool:
    """A frame of an installed package that is no engine."""
    return bool(_LIBRARY.search(site.file)) and not is_engine(site)


def is_engine(site: CallSite) -> bool:
    """A frame of a serving engine, installed or run from its source."""
    installed = _INSTALLED.match(site.file)
    if installed:
        return bool(_PACKAGE.match(site.file[installed.end() :]))
    return "lib/python3" not in site.file and bool(_SOURCE.search(site.file))


def is_own(site: CallSite) -> bool:
    """A frame of the user's own code."""
    return not (is_engine(site) or is_library(site) or _LAUNCHER.search(site.file))


class Frames:
    """The frames since the last error, outermost first, as they come line by line.

    awaits_code : the next line is the code of the last frame
    """

    def __init__(self) -> None:
        self._sites: list[CallSite] = []
        self._prefix = ""
        self.awaits_code = False

    @property
    def sites(self) -> tuple[CallSite, ...]:
        """Outermost first."""
        return tuple(self._sites)

    def take(self, line: str) -> bool:
        """True where the line belongs to a traceback's frame."""
        match = _FRAME.search(line) if "File " in line else None
        if match:
            file, number, function, code = match.groups()
            site = CallSite(file, int(number), code.strip(), function or "")
            self._sites = [*self._sites[-MOST_FRAMES:], site]
            self._prefix = line[: match.start()].rstrip()
            self.awaits_code = not code.strip()
            return True
        if self.awaits_code:
            self.awaits_code = False
            code = self._without_prefix(line)
            # A stack without code has its next frame here, or the message it leads to.
            if not _AFTER_FRAME.search(code):
                self._sites[-1] = replace(self._sites[-1], code=code)
                return True
        return False

    def _without_prefix(self, line: str) -> str:
        """The code on the line below a frame: what stood before the frame stands here too, with
        another time."""
        start = line[: len(self._prefix)]
        if _DIGIT.sub("0", start) == _DIGIT.sub("0", self._prefix):
            line = line[len(self._prefix) :]
        return line.strip()

    def clear(self) -> None:
        self._sites.clear()
        self.awaits_code = False

    def site(self) -> CallSite | None:
        """The innermost frame of the user's or the engine's code; of a library where there is
        neither; never of what only started the process."""
        inside = [site for site in self._sites if not _is_launcher(site)]
        own = [site for site in inside if not is_library(site)]
        found = (own or inside)[-1:]
        return replace(found[0], file=_file_name(found[0].file)) if found else None

    def named(self, *patterns: str) -> bool:
        """Whether a frame's file matches one."""
        return any(re.search(p, site.file) for p in patterns for site in self._sites)

    def explained(self, rule: Rule, message: str = "") -> Rule:
        """The rule with what message and code say about it.

        An operation named in the message decides; then the code, innermost frame first.
        """
        clue = next((clue for clue in NAMED if clue.pattern.search(message)), None)
        if clue is None and any(
            _PRINTS.search(part) for site in self._sites for part in (site.file, site.function)
        ):
            clue = PRINTED
        return explained_by(rule, clue or self._clue())

    def _clue(self) -> Clue | None:
        for site in reversed(self._sites):
            for clue in CLUES:
                if clue.pattern.search(site.code):
                    return clue
        return None


def explained_by(rule: Rule, clue: Clue | None) -> Rule:
    """The rule in the words of a clue, where there is one."""
    if clue is None:
        return rule
    return replace(rule, klass=clue.klass, cause=clue.cause, remedy=clue.remedy)


def _is_launcher(site: CallSite) -> bool:
    return bool(_LAUNCHER.search(site.file))


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]
