"""What every answer of the dashboard tells the browser: what a page may load, and who may frame it.

The pages show names and notes that other people wrote. Streamlit and the pages keep them text;
should one ever slip through, the browser still loads nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST = re.compile(rb"[0-9A-Za-z.:\[\]-]{1,255}")

# Streamlit's front end sets styles in the page, and its fonts, charts and downloads are data.
_POLICY = (
    "default-src 'self'; script-src 'self'{scripts}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "media-src 'self' data: blob:; worker-src 'self' blob:; connect-src 'self'{sockets} data: "
    "blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    # The address may hold a link's key: other sites are not told it, the log-in needs it.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


@cache
def _own_scripts() -> str:
    """Streamlit's first page holds a script of its own: that one may run, told by its hash."""
    page = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = re.findall(rb"<script>(.*?)</script>", page.read_bytes(), re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(script).digest()) for script in scripts)
    return "".join(f" 'sha256-{digest.decode()}'" for digest in digests)


def content_policy(host: bytes | None) -> bytes:
    """The Content-Security-Policy; sockets to `host` are named, for not every browser counts them
    as 'self'."""
    named = host.decode() if host is not None and _HOST.fullmatch(host) else ""
    sockets = f" ws://{named} wss://{named}" if named else ""
    return _POLICY.format(scripts=_own_scripts(), sockets=sockets).encode()


class SecureHeaders:
    """Adds the headers to every answer that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        host = dict(scope["headers"]).get(b"host")
        added = (*FIXED, (b"content-security-policy", content_policy(host)))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                new = [item for item in added if item[0] not in there]
                message = {**message, "headers": [*message["headers"], *new]}
            await send(message)

        await self.app(scope, receive, send_with_headers)
