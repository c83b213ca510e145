"""Studies by the content of their choices: each is made once, however many pages ask.

A study holds its traffic at every load and what it found so far, so it is shared and not copied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from app.compute.hashing import content_digest
from app.study.choice import StudyChoice
from core.study.advice import Advice, advise
from core.study.build import study_of
from core.study.study import Study

HASH: dict[str | type, Any] = {StudyChoice: content_digest}


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASH)
def study_for(choice: StudyChoice) -> Study:
    """The study of these choices; each list is simulated when it is first asked for.

    Raises SettingError, HistogramError.
    """
    found = study_of(
        *(choice.traffic, choice.engine, choice.prices),
        policy=choice.policy,
        machine=choice.machine,
        concurrency=choice.concurrency,
    )
    if not choice.before_graphs:
        return found
    whole = choice.machine.kv_tokens
    return replace(found, machine=replace(found.machine, kv_tokens=whole), _known={})


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASH)
def advice_for(choice: StudyChoice) -> Advice:
    """What to run, with all that stands behind it. Raises as `study_for`, CaptureSizesError."""
    return advise(study_for(choice), grounds=choice.grounds)
