"""The dashboard as a web server: Streamlit's pages, and what HTTP needs around them."""

import sys
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # `streamlit run` adds app/ only

from app.web.headers import SecureHeaders  # noqa: E402
from app.web.login_return import BackAfterLogin  # noqa: E402
from app.web.origin import OwnSocketsOnly  # noqa: E402

AROUND = [Middleware(SecureHeaders), Middleware(OwnSocketsOnly), Middleware(BackAfterLogin)]
app = App("streamlit_app.py", middleware=AROUND)
