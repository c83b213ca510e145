"""After logging in, back to the address that was asked for; Streamlit leads to its first page.

A share link opened by somebody who is not logged in would otherwise be lost on the way.
"""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGIN_PATH, CALLBACK_PATH = "/auth/login", "/oauth2callback"
COOKIE = "bucketwise_return"
MAX_AGE_S = 600
MAX_CHARS = 2000


def place_of(referer: str, host: str) -> str | None:
    """Path and query of an address of this very host; None for any other, and what is no address.

    What comes back starts with one slash, so that no browser takes it for another host.
    """
    try:
        parts = urlsplit(referer)
    except ValueError:
        return None
    place = parts.path + (f"?{parts.query}" if parts.query else "")
    fits = parts.scheme in ("http", "https") and parts.netloc == host and len(place) <= MAX_CHARS
    plain = referer.isascii() and referer.isprintable() and "\\" not in referer
    return place if fits and plain and place.startswith("/") and place[1:2] != "/" else None


class BackAfterLogin:
    """Remembers where a log-in started, in a cookie, and leads there when it has come back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.endswith((LOGIN_PATH, CALLBACK_PATH)):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        change = _remember if path.endswith(LOGIN_PATH) else _lead_back

        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                change(headers, MutableHeaders(raw=message["headers"]))
            await send(message)

        await self.app(scope, receive, send_changed)


def _remember(asked: Headers, answer: MutableHeaders) -> None:
    place = place_of(asked.get("referer", ""), asked.get("host", ""))
    if place is not None:
        answer.append("set-cookie", _cookie(quote(place, safe=""), MAX_AGE_S))


def _lead_back(asked: Headers, answer: MutableHeaders) -> None:
    kept = cookie_parser(asked.get("cookie", "")).get(COOKIE)
    if kept is None:
        return
    answer.append("set-cookie", _cookie("", 0))
    # Checked again: whoever can set a cookie must not lead the browser elsewhere.
    place = place_of(f"http://here{unquote(kept)}", "here")
    if place is not None and "location" in answer:
        answer["location"] = place


def _cookie(value: str, max_age_s: int) -> str:
    return f"{COOKIE}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax"
