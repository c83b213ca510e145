"""Deployment: one engine that a file starts, as far as the file says."""

from __future__ import annotations

from dataclasses import dataclass

from core.text.counting import counted


@dataclass(frozen=True)
class Deployment:
    """One engine as a file starts it.

    name : the service, container, role or line; role : "prefill", "decode" or empty
    kind : of the file, in words ("Compose"); empty for a plain configuration
    engine, release : the engine's id and release, None where nothing tells them
    text : its settings, for the engine's own parser
    unset : variables that nothing sets and on which a setting may depend
    not_understood : sentences; evidence : where engine and release are said
    no_release : why there is no release, where there is none
    """

    name: str
    role: str
    kind: str
    engine: str | None
    release: str | None
    text: str
    unset: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    no_release: str = ""

    @property
    def title(self) -> str:
        """ "vllm-decode (decode)"."""
        role = self.role if self.role and self.role not in self.name else ""
        return f"{self.name} ({role})" if role else self.name


@dataclass(frozen=True)
class Found:
    """What a file holds.

    passed_over : parts of the file that start no engine, each with the reason
    """

    deployments: tuple[Deployment, ...]
    passed_over: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One sentence for a person who gave the file."""
        what = counted(len(self.deployments), "engines")
        left = f"; not read: {'; '.join(self.passed_over)}" if self.passed_over else ""
        return f"{what} in the file{left}."
