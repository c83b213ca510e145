"""Sessions: keep the work, go back in it, and hand it to a teammate."""

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.report.button import report_button
from app.sessions import list_view as session_list
from app.sessions import share_view
from app.sessions import view as session_view
from app.web import identity
from core.errors import ProjectError

st.title("Sessions", anchor=False)
st.caption(
    "A session keeps traffic (numbers only), settings, profiles and jobs in the database, and "
    "saves itself as you work."
    + ("" if identity.login_is_set_up() else " Without login this installation has one user.")
)
try:
    names = session_view.known_names()
    if state.session().open_id is None:
        session_view.start_form()
    else:
        session_view.show_open(names)
        share_view.show_sharing(names)
        session_view.show_history(names)
        session_view.show_comments(names)
    session_list.show_list(names)
    session_list.import_form()
    report_button()
except ProjectError as error:
    st.error(as_text(str(error)))
