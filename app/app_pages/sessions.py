"""Sessions: keep the work, go back in it, and hand it to a teammate."""

import streamlit as st

from app import session_view, state
from core.errors import ProjectError

st.title("Sessions", anchor=False)
st.caption(
    "A session keeps traffic (numbers only), settings, profiles and jobs in the database, and "
    "saves itself as you work. Without login everybody on this installation is one user."
)
try:
    if state.session().open_id is None:
        session_view.start_form()
    else:
        session_view.show_open()
    session_view.show_list()
    session_view.import_form()
except ProjectError as error:
    st.error(str(error))
