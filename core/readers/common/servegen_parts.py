"""Windows of a ServeGen dataset: {length: share} dictionaries written as Python literals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.readers.common.drops import Drops
from core.records import FloatArray, IntArray

OUTPUT = "output_tokens"
PROMPT_PARTS = ("input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens")
IDLE = "idle window"
BAD_WINDOW = "window that cannot be read"
MAX_LENGTH = 2**31
MAX_SUPPORT = 20_000
"""More combinations of two modalities than this are thinned by merging the rarest lengths."""

Shares = tuple[IntArray, FloatArray]
_ITEM = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*:\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*(,|$)")


@dataclass
class Window:
    """One window. prompts: shares of each modality; weight: requests, or 1 where unknown."""

    number: int
    start_s: float
    prompts: list[Shares]
    output: Shares
    weight: float = 1.0


def parse_shares(text: Any) -> Shares | None:
    """ "{13: 0.5, 14: 0.5}" as (lengths, shares); None when it is anything else."""
    if not isinstance(text, str):
        return None
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    body = body[1:-1].rstrip().rstrip(",")
    lengths, shares, place = [], [], 0
    while place < len(body):
        match = _ITEM.match(body, place)
        if match is None:
            return None
        lengths.append(float(match[1]))
        shares.append(float(match[2]))
        place = match.end()
    array = np.array(lengths)
    if len(array) and (not np.isfinite(array).all() or np.abs(array).max() >= MAX_LENGTH):
        return None
    weights = np.array(shares)
    return (array.astype(np.int64), weights) if np.isfinite(weights).all() else None


def windows_of(document: dict[Any, Any]) -> tuple[list[Window], Drops]:
    """Windows with requests; idle and damaged ones are counted."""
    windows, drops = [], Drops()
    for number, (start, fields) in enumerate(document.items(), 1):
        window = _window(number, start, fields)
        if isinstance(window, Window):
            windows.append(window)
        else:
            drops.add(window, number)
    return windows, drops


def _window(number: int, start: Any, fields: Any) -> Window | str:
    try:
        start_s = float(str(start)[:20])
    except ValueError:
        return BAD_WINDOW
    if not isinstance(fields, dict):
        return BAD_WINDOW
    output = parse_shares(fields.get(OUTPUT))
    present = [key for key in PROMPT_PARTS if key in fields]
    prompts = [parse_shares(fields[key]) for key in present]
    if output is None or not prompts or any(p is None for p in prompts):
        return BAD_WINDOW
    filled = [p for p in prompts if p is not None and len(p[0]) and p[1].sum() > 0]
    if not filled or len(output[0]) == 0 or output[1].sum() <= 0:
        return IDLE
    return Window(number, start_s, filled, output)


def _summed(prompts: list[Shares]) -> Shares:
    """Shares of the sum of independent lengths."""
    lengths, shares = prompts[0]
    for more_lengths, more_shares in prompts[1:]:
        if len(lengths) * len(more_lengths) > MAX_SUPPORT**2 // 20:
            keep = np.argsort(more_shares)[::-1][: max(1, MAX_SUPPORT**2 // 20 // len(lengths))]
            more_lengths, more_shares = more_lengths[keep], more_shares[keep]
        total = (lengths[:, None] + more_lengths[None, :]).ravel()
        weight = (shares[:, None] * more_shares[None, :]).ravel()
        lengths, place = np.unique(total, return_inverse=True)
        shares = np.bincount(place, weight, len(lengths)).astype(np.float64)
    return lengths, shares


def mixed(windows: list[Window], what: str) -> Shares:
    """Lengths and weighted shares of all windows, one after the other."""
    lengths, shares = [], []
    for window in windows:
        values, weights = _summed(window.prompts) if what == "prompt" else window.output
        lengths.append(values)
        shares.append(weights / weights.sum() * window.weight)
    return np.concatenate(lengths), np.concatenate(shares)


def mean_of(windows: list[Window], what: str) -> float:
    """Weighted mean length [tokens]."""
    lengths, shares = mixed(windows, what)
    return float(lengths @ shares / shares.sum())
