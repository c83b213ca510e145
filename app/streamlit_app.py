"""Bucketwise's front door: page settings and navigation, nothing else."""

import sys
from contextlib import suppress
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # `streamlit run` adds app/ only

from app import address, state  # noqa: E402
from app.sessions.gate import autosave, open_linked, show_role  # noqa: E402
from app.sidebar import show_sidebar  # noqa: E402
from app.turns import TURNS  # noqa: E402
from app.web.garbage import collect_now_and_then  # noqa: E402
from app.web.login import navigation_place, require_login  # noqa: E402
from app.web.page_end import PageEnd  # noqa: E402
from app.web.unfit import refuse_last, show_unfit  # noqa: E402
from app.workload import traffic  # noqa: E402

ICON = Path(__file__).with_name("icon.png")  # a material icon would be fetched from outside
st.set_page_config(page_title="Bucketwise", page_icon=str(ICON), layout="wide")
decide = [
    st.Page("app_pages/workload.py", title="Workload", icon=":material/upload:", default=True),
    st.Page("app_pages/buckets.py", title="Buckets", icon=":material/stacked_bar_chart:"),
    st.Page("app_pages/break_even.py", title="Break-even", icon=":material/balance:"),
    st.Page("app_pages/memory.py", title="Memory", icon=":material/memory:"),
    st.Page("app_pages/serve.py", title="Serve", icon=":material/timeline:"),
    st.Page("app_pages/engine.py", title="Engine", icon=":material/rule_settings:"),
    st.Page("app_pages/learn.py", title="Learn", icon=":material/school:"),
]
measure = [
    st.Page("app_pages/measure.py", title="Measure", icon=":material/speed:"),
    st.Page("app_pages/calibrate.py", title="Calibrate", icon=":material/straighten:"),
    st.Page("app_pages/queue.py", title="Queue", icon=":material/list_alt:"),
]
repair = [
    st.Page("app_pages/diagnose.py", title="Diagnose", icon=":material/troubleshoot:"),
    st.Page("app_pages/not_faster.py", title="Not faster?", icon=":material/trending_flat:"),
]
team = [
    st.Page("app_pages/sessions.py", title="Sessions", icon=":material/history:"),
    st.Page("app_pages/compare.py", title="Compare", icon=":material/compare:"),
]
pages = {"": decide, "Measure": measure, "Troubleshoot": repair, "Sessions": team}
with TURNS.one():
    page = st.navigation(pages, position=navigation_place())
    require_login()
    state.enter_page(page.url_path)
    open_linked()
    address.read_address()
    traffic.open_linked_example()
    try:
        show_sidebar()
        show_role()
        with suppress(PageEnd):
            page.run()
        with st.sidebar:
            show_unfit()
    except Exception:
        if not refuse_last():
            raise
        st.rerun()
    finally:
        autosave()
        address.write_address()
        collect_now_and_then()
