"""Which pages may open a socket to the dashboard: its own alone.

Streamlit also lets pages of any other port of this machine in, and without login whoever holds a
socket works as the local user.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config

FORBIDDEN = 1008


def is_own_page(origin: str | None, host: str | None) -> bool:
    """Is `origin` (None: no browser) the address that `host` serves, or one that
    server.corsAllowedOrigins trusts?"""
    if origin is None:
        return True
    if origin in config.get_option("server.corsAllowedOrigins"):
        return True
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


class OwnSocketsOnly:
    """Refuses sockets that a page from elsewhere asks for, before they are opened."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            headers = Headers(scope=scope)
            if not is_own_page(headers.get("origin"), headers.get("host")):
                await receive()
                await send({"type": "websocket.close", "code": FORBIDDEN})
                return
        await self.app(scope, receive, send)
