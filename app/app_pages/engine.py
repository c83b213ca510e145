"""Engine: what an engine would really do with its configuration, no card needed."""

import streamlit as st

from app import compute, state
from app.drawing.views import table
from app.inputs import deployment
from app.inputs import engine as engine_inputs
from app.report.button import report_button
from app.web.page_end import end_page
from app.workload import traffic
from core.errors import ProjectError

st.title("Engine", anchor=False)
st.caption(
    "Paste or drop your engine's flags, its config (JSON or YAML), its start-up log or the file "
    "that deploys it. Below is what it would really capture, and where steps would fall off its "
    "graphs. What you set here is 'your engine today', the baseline on the other pages."
)
deployment.drop(engine_inputs.BY_TEXT)
choice = engine_inputs.engine_inputs()
found = traffic.current_traffic(stop=False)
histogram = found.histogram if found is not None else None
try:
    choice = deployment.chosen(choice)
    report = compute.checked(choice, histogram)
except ProjectError as error:
    st.error(str(error))
    end_page()

engine_inputs.show_effect(report)
st.subheader("Findings", anchor=False)
if not report.findings:
    st.success("Nothing to warn of.")
for finding in report.findings:
    engine_inputs.show_finding(finding)
if histogram is None:
    st.caption("Load traffic on the Workload page to see how often each finding concerns you.")
if report.ignored:
    st.caption(f"Not read, since it changes no graph: {', '.join(report.ignored)}.")
for note in report.notes:
    st.caption(note)
if report.log is not None:
    st.subheader("From the log (measured by the engine)", anchor=False)
    facts = {**report.log.facts, **{f"{k} graphs": v for k, v in report.log.graphs.items()}}
    table([{"fact": key, "value": str(value)} for key, value in facts.items()], "log_facts")
if report.sizes:
    st.caption("'Your engine today' can now be chosen on the Buckets page.")
    state.session().values["engine_choice"] = choice
if found is not None:
    report_button(found)
