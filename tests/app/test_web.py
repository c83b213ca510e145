"""What the dashboard's server lets in, and what it tells browsers: asked by real requests."""

from __future__ import annotations

import base64
import http.client
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.web.headers import content_policy
from app.web.login_return import place_of
from app.web.origin import is_own_page
from tests.app.dashboard import dashboard

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dashboard(tmp_path_factory.mktemp("web")) as found:
        yield found


def socket_answer(address: str, origin: str | None, host: str | None = None) -> int:
    """HTTP status of a websocket handshake: 101 is open."""
    port = urlsplit(address).port
    lines = ["GET /_stcore/stream HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}"]
    lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}"]
    lines += [f"Origin: {origin}"] if origin else []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as asked:
        asked.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(asked.recv(1024).split()[1])


def test_only_the_dashboards_own_pages_open_a_socket(address: str) -> None:
    """Its own page does; a foreign site, another port of this machine, a name that is pointed
    here, and an origin that is none do not."""
    port = urlsplit(address).port
    assert socket_answer(address, address) == 101
    assert socket_answer(address, f"http://localhost:{port}", f"localhost:{port}") == 101
    assert socket_answer(address, None) == 101
    foreign = ["https://evil.example", f"https://127.0.0.1.evil.example:{port}", "null"]
    foreign += ["http://127.0.0.1:9", f"http://localhost:{port}", "http://[", "file://"]
    assert {origin: socket_answer(address, origin) for origin in foreign} == dict.fromkeys(
        foreign, 403
    )
    rebound = f"evil.example:{port}"
    assert socket_answer(address, f"http://{rebound}", rebound) == 403


def ask(address: str, method: str, path: str, headers: dict[str, str] | None = None) -> tuple:
    """(status, headers) of one request."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        connection.request(method, path, b"x", headers or {})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}
    finally:
        connection.close()


def test_an_upload_needs_the_token_of_the_page(address: str) -> None:
    """A foreign page can make the browser send cookies, but knows no token: refused; with the
    token the request gets as far as its session, which is none here."""
    path = "/_stcore/upload_file/session/file"
    _, answer = ask(address, "GET", "/_stcore/health")
    cookie = answer["set-cookie"].split(";")[0]
    token = cookie.split("=", 1)[1]
    for method in ("PUT", "DELETE"):
        sent = {"Cookie": cookie, "Origin": "https://evil.example"}
        assert ask(address, method, path, sent)[0] == 403
        assert ask(address, method, path, sent | {"X-Xsrftoken": "2|00|00|1"})[0] == 403
    assert ask(address, "PUT", path, {"Cookie": cookie, "X-Xsrftoken": token})[0] == 400


def test_no_answer_may_be_read_by_other_sites(address: str) -> None:
    """No address of the server allows another origin to read what it answers."""
    for path in ("/", "/_stcore/health", "/_stcore/host-config", "/media/x.json"):
        _, answer = ask(address, "GET", path, {"Origin": "https://evil.example"})
        allowed = answer.get("access-control-allow-origin")
        assert allowed is None or "evil" not in allowed and allowed != "*", path


def test_every_answer_carries_the_headers(address: str) -> None:
    """Pages, files, errors: no sniffing, no foreign frame, no referrer to others, own scripts and
    pictures alone."""
    for path in ("/", "/buckets", "/_stcore/health", "/media/none.json"):
        _, answer = ask(address, "GET", path)
        assert answer["x-content-type-options"] == "nosniff", path
        assert answer["x-frame-options"] == "SAMEORIGIN"
        assert answer["referrer-policy"] == "same-origin"
        rules = dict(
            rule.strip().split(" ", 1) for rule in answer["content-security-policy"].split(";")
        )
        assert rules["default-src"] == "'self'" and rules["img-src"] == "'self' data: blob:"
        assert "unsafe" not in rules["script-src"] and "sha256-" in rules["script-src"]
        assert urlsplit(address).netloc in rules["connect-src"]


def test_a_forged_host_cannot_write_the_policy() -> None:
    """Whatever stands in the Host header, nothing but a name comes into the policy."""
    clean = content_policy(None)
    for host in (b"evil.example; script-src *", b"a b", b"*", b"x" * 300, b"\xff"):
        assert content_policy(host) == clean
    assert b" ws://a.example:8501 wss://a.example:8501 " in content_policy(b"a.example:8501")


def test_an_own_page_is_of_the_same_host() -> None:
    """The host and port must be the same; scheme and path do not matter."""
    assert is_own_page("https://a.example", "a.example") and is_own_page(None, "a.example")
    assert not any(
        is_own_page(origin, "a.example")
        for origin in ("https://a.example:444", "https://b.example", "null", "http://[x", "")
    )


def test_the_way_back_after_login_stays_here() -> None:
    """Path and query of this very host come back; anything that could lead elsewhere does not."""
    assert place_of("http://h:1/buckets?key=a&k=2", "h:1") == "/buckets?key=a&k=2"
    for referer in (
        *(
            "http://evil/buckets",
            "http://h:1.evil/x",
            "http://h:1@evil/x",
            "//h:1/x",
            "http://h:2/",
        ),
        *(
            "http://h:1//evil/x",
            "http://h:1/\\evil",
            "http://h:1",
            "",
            "http://h:1/\nx: y",
            "http://[",
        ),
        *("javascript:alert(1)", "http://h:1/" + "x" * 2000, "http://h:1/ä"),
    ):
        assert place_of(referer, "h:1") is None, referer


def test_the_dashboards_server_is_what_starts() -> None:
    """`make run` starts the server with the headers, not the bare pages."""
    launcher = Path(__file__).parents[2] / "scripts" / "run_local.py"
    assert '"app/server.py"' in launcher.read_text("utf-8")
