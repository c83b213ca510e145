"""Graphs are on, but nothing got faster: which of four groups of data says why.

Did the graphs replay; was the host in the way; do padding and the kernels take the time; what
does the boundary cost. Each group is judged by what is known, and says what is missing.
"""

from core.not_faster.answer import Answer, Evidence, Group, GroupAnswer, Verdict
from core.not_faster.judge import why_not_faster
from core.not_faster.known import EngineFacts, Known, Replays
from core.not_faster.time_split import PARTS, TimeSplit

__all__ = [
    "PARTS",
    "Answer",
    "EngineFacts",
    "Evidence",
    "Group",
    "GroupAnswer",
    "Known",
    "Replays",
    "TimeSplit",
    "Verdict",
    "why_not_faster",
]
