"""The way back after a log-in, with whatever cookies a browser sends along."""

from __future__ import annotations

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.web.login_return import CALLBACK_PATH, COOKIE, BackAfterLogin
from tests import own_loop


async def _logged_in(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"location", b"/")]
    await send({"type": "http.response.start", "status": 302, "headers": headers})


def led_to(cookie: bytes) -> str:
    """Where a browser with these cookies is sent once it has logged in."""
    sent: list[Message] = []

    async def nothing() -> Message:
        raise AssertionError("the request has no body")

    async def keep(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"h"), (b"cookie", cookie)]
    scope = {"type": "http", "path": CALLBACK_PATH, "headers": headers}
    own_loop.run(BackAfterLogin(_logged_in)(scope, nothing, keep))
    return dict(sent[0]["headers"])[b"location"].decode()


@pytest.mark.parametrize("other", [b"a/b=1", b"=", b'x="', b"\xff=\xff", b"a=b=c", b"[]={}"])
def test_foreign_cookies_do_not_stand_in_the_way(other: bytes) -> None:
    """A cookie of another program on the host, whatever its name, neither fails the log-in nor
    hides the place that was asked for."""
    kept = f"{COOKIE}=%2Fbuckets%3Fkey%3Da".encode()
    assert led_to(other) == "/"
    assert led_to(other + b"; " + kept) == led_to(kept) == "/buckets?key=a"


def test_a_forged_place_leads_nowhere_else() -> None:
    """Whoever can set the cookie cannot lead the browser to another host."""
    for place in ("%2F%2Fevil.example", "https%3A%2F%2Fevil.example", "%2F%5Cevil", ""):
        assert led_to(f"{COOKIE}={place}".encode()) == "/"
