"""The engine, its release and its configuration as text; and how a check's answer is shown."""

from __future__ import annotations

import streamlit as st

from app import state, theme
from app.inputs import sets as inputs
from app.inputs.engine_choice import EngineChoice
from core.engines import ENGINES
from core.engines.check import CheckReport
from core.engines.plan import Finding, Severity

BY_TEXT = "as the text says, else the newest"
HINTS = {
    "vllm": "vllm serve MODEL --max-num-seqs 256 --max-num-batched-tokens 8192",
    "sglang": "python -m sglang.launch_server --model-path MODEL --max-running-requests 256",
    "trtllm": "max_batch_size: 256\ncuda_graph_config:\n  enable_padding: true",
}
BADGES = {Severity.ERROR: "red", Severity.WARNING: "orange", Severity.INFO: "blue"}


def engine_inputs() -> EngineChoice:
    """Widgets for the engine; the limits of the Workload page fill what the text leaves open."""
    left, right = st.columns(2)
    names = list(ENGINES)
    if state.value("engine", names[0]) not in names:
        state.set_values({"engine": names[0]})
    left.selectbox(
        "Engine",
        names,
        format_func=lambda name: ENGINES[name].label,
        key=state.remember("engine", names[0]),
    )
    engine = ENGINES[state.keep("engine")]
    versions = [BY_TEXT, *engine.versions]
    key = f"version_{engine.id}"
    right.selectbox("Release", versions, key=state.remember(key, BY_TEXT))
    version = state.keep(key)
    text_key = f"config_{engine.id}"
    st.text_area(
        "Flags, config, start-up log or deployment file",
        key=state.remember(text_key, ""),
        height=160,
        placeholder=HINTS.get(engine.id, "Paste the command line, the config or the log."),
    )
    text = state.keep(text_key).strip() or None
    settings = {} if text else inputs.shared_settings(engine.id)
    return EngineChoice(engine.id, None if version == BY_TEXT else version, text, settings)


KIND_WORDS = {
    "piecewise": "piecewise ones, cut at attention, for steps that hold prompt tokens",
    "full": "full ones for steps of decodes alone",
    "decode": "one set for decodes",
    "prefill": "one for prefill",
    "prompt": "one for prompts, by batch and length",
}


def show_effect(report: CheckReport) -> None:
    """What the engine ends up with."""
    label = ENGINES[report.engine].label
    cells = st.columns(4)
    cells[0].metric("release", f"{label} {report.version}")
    cells[1].metric("sizes captured", len(report.sizes))
    cells[2].metric("graphs, all kinds", report.plan.graphs if report.plan else "–")
    full = report.plan.full_load if report.plan else None
    cells[3].metric(
        "widest decode step", "–" if full is None else f"{full:,} {report.unit or ''}".strip()
    )
    if not report.starts:
        st.error("The engine would not start with this configuration; see the findings.")
    if report.sizes:
        st.code(theme.sizes_text(report.sizes, 80), language=None, wrap_lines=True)
    if report.plan is not None and report.plan.graphs != len(report.sizes):
        kinds = " and ".join(KIND_WORDS[c.what] for c in report.plan.counts if c.what in KIND_WORDS)
        st.caption(f"{report.plan.count_text()}. Each kind of step has graphs of its own: {kinds}.")
    set_here = ", ".join(f"{k}={v}" for k, v in report.settings.items() if v is not None)
    st.caption(
        f"From the {report.source}; by rule, not measured. Settings: {set_here or 'defaults'}."
    )


def show_finding(finding: Finding) -> None:
    """Severity, what happens, when, how often, and the exact fix."""
    colour = BADGES[finding.severity]
    text = f":{colour}-badge[{finding.severity.value}] {_escaped(finding.text)}"
    if finding.load:
        text += f" *({_escaped(finding.load)})*"
    if finding.share is not None and (finding.share > 0 or finding.severity is not Severity.INFO):
        text += f" Concerns **{theme.share_text(finding.share)}** of your steps."
    st.markdown(text)
    if not finding.fix:
        return
    if any(sign in finding.fix for sign in ("--", "{", "=", ": [")):
        st.code(finding.fix, language="sh", wrap_lines=True)
    else:
        st.caption(f"What to do: {_escaped(finding.fix)}")


def _escaped(text: str) -> str:
    """Markdown's own signs in a plain sentence, kept literal."""
    for sign in "\\`*_[]$":
        text = text.replace(sign, f"\\{sign}")
    return text
