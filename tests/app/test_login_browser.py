"""People log in at a real identity provider with a real browser, and share by link."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from itsdangerous import TimestampSigner, URLSafeTimedSerializer

from tests.app.conftest import free_port
from tests.app.dashboard import dashboard
from tests.app.navigation import follow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=60_000)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not find_spec("oidc_provider_mock"), reason="no oidc-provider-mock"),
]

PATIENCE_MS = 60_000
SECRET = "a secret of the tests alone, long enough"
BATCHES = b"batch,count\n1,1\n3,1\n5,1\n8,1\n"
COOKIE = "_streamlit_user"
VIEW_ONLY = "View only: changes stay in this browser; fork to keep them."


@contextmanager
def identity_provider(folder: Path) -> Iterator[str]:
    """An OpenID Connect provider that knows Ana, Ben and Eve; its address."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce"]
    for name in ("ana", "ben", "eve"):
        claims = {"sub": f"{name}-1", "email": f"{name}@example.org", "email_verified": True}
        command += ["--user-claims", json.dumps(claims)]
    with (folder / "provider.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        # Another site than the dashboard's 127.0.0.1, as in life.
        address = f"http://localhost:{port}"
        try:
            _wait(f"{address}/.well-known/openid-configuration", process)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, "the identity provider ended"
        try:
            urllib.request.urlopen(url, timeout=1)
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the identity provider does not answer")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard where people log in; Eve is not invited."""
    folder, port = tmp_path_factory.mktemp("team"), free_port()
    with identity_provider(folder) as provider:
        secrets = folder / "secrets.toml"
        secrets.write_text(
            "[auth]\n"
            f'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            f'cookie_secret = "{SECRET}"\n'
            'client_id = "bucketwise"\nclient_secret = "of the tests"\n'
            f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n'
        )
        settings = {
            "STREAMLIT_SECRETS_FILES": str(secrets),
            "BUCKETWISE_REQUIRE_LOGIN": "1",
            "BUCKETWISE_LOGIN_EMAILS": "ana@example.org, ben@example.org",
        }
        with dashboard(folder, settings, port) as address:
            yield address


@pytest.fixture
def visit(browser, team) -> Iterator:
    """visit(path) opens a browser of somebody's own on the dashboard."""
    contexts = []

    def open_context(path: str = "", cookies: list | None = None):
        context = browser.new_context(viewport={"width": 2400, "height": 1000})
        contexts.append(context)
        context.add_cookies(cookies or [])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{team}/{path}")
        return page

    yield open_context
    for context in contexts:
        context.close()


def idle(page) -> None:
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def log_in(page, name: str) -> None:
    """From the door through the provider's page and back."""
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=f"{name}-1").click()
    page.wait_for_url("http://127.0.0.1:*/**")
    idle(page)


def at_the_door(page) -> None:
    expect(page.get_by_text("This dashboard is for people who log in.")).to_be_visible()
    expect(page.get_by_role("link", name="Buckets")).to_have_count(0)


def to_sessions(page) -> None:
    follow(page, "Sessions")
    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
    idle(page)


def keep_session(page) -> str:
    """Upload traffic and keep it; the session's id."""
    files = [{"name": "batches.csv", "mimeType": "text/csv", "buffer": BATCHES}]
    page.locator('input[type="file"]').first.set_input_files(files=files)
    expect(page.get_by_role("heading", name="batches.csv")).to_be_visible()
    to_sessions(page)
    page.get_by_role("button", name="Keep this work as a session").click()
    expect(page.get_by_text("Who has a part in it opens it at this address")).to_be_visible()
    idle(page)
    return page.url.split("session=")[1].split("&")[0]


def make_link(page, role: str) -> str:
    page.get_by_role("button", name=f"Make a link for {role}s").click()
    expect(page.get_by_role("button", name=f"Withdraw the {role}s' link")).to_be_visible()
    idle(page)
    addresses = page.locator("code").all_inner_texts()
    links = [text.strip() for text in addresses if "key=" in text]
    return links[0 if role == "viewer" else -1]


def test_two_people_share_by_link(visit, team) -> None:
    """Without a link a teammate sees nothing; a viewer's link lets them look, an editor's change,
    and both are known by their e-mail addresses."""
    ana = visit()
    at_the_door(ana)
    log_in(ana, "ana")
    expect(ana.get_by_text("Logged in as ana@example.org")).to_be_visible()
    session_id = keep_session(ana)
    viewers = make_link(ana, "viewer")
    assert viewers.startswith(f"{team}/?key=")

    ben = visit(f"?session={session_id}")
    at_the_door(ben)
    log_in(ben, "ben")
    expect(
        ben.get_by_text("There is no such session, or it is not shared with you")
    ).to_be_visible()
    expect(ben.get_by_text("batches.csv")).to_have_count(0)

    ben.goto(viewers)
    expect(ben.get_by_text(VIEW_ONLY)).to_be_visible()
    expect(ben.get_by_role("heading", name="batches.csv")).to_be_visible()
    idle(ben)
    assert f"session={session_id}" in ben.url and "key=" not in ben.url
    to_sessions(ben)
    expect(ben.get_by_role("button", name="Save name and notes")).to_have_count(0)

    ben.goto(make_link(ana, "editor"))
    expect(ben.get_by_role("heading", name="batches.csv")).to_be_visible()
    to_sessions(ben)
    expect(ben.get_by_text(VIEW_ONLY)).to_have_count(0)
    ben.get_by_text("Name and notes", exact=True).click()
    ben.get_by_role("textbox", name="Name").fill("Named by Ben")
    ben.get_by_role("button", name="Save name and notes").click()
    expect(ben.get_by_role("heading", name="Named by Ben")).to_be_visible()

    ana.reload()
    expect(ana.get_by_text("saved", exact=False).first).to_be_visible()
    expect(ana.get_by_text("by ben@example.org; you are owner")).to_be_visible()


@pytest.mark.slow
def test_a_link_opened_before_logging_in_is_not_lost(visit) -> None:
    """The provider sends people to the first page; the link is opened all the same."""
    ana = visit()
    log_in(ana, "ana")
    keep_session(ana)
    link = make_link(ana, "viewer")
    ben = visit(link.split("/", 3)[3])
    at_the_door(ben)
    log_in(ben, "ben")
    expect(ben.get_by_text(VIEW_ONLY)).to_be_visible()
    expect(ben.get_by_role("heading", name="batches.csv")).to_be_visible()


@pytest.mark.slow
def test_logging_out_closes_the_door(visit, team) -> None:
    """Afterwards no page opens, also at the address of one's own session."""
    page = visit()
    log_in(page, "ana")
    session_id = keep_session(page)
    page.get_by_role("button", name="Log out").click()
    page.wait_for_timeout(500)
    page.goto(f"{team}/sessions?session={session_id}")
    at_the_door(page)
    expect(page.get_by_text("batches.csv")).to_have_count(0)


def test_somebody_who_is_not_invited(visit) -> None:
    """The provider knows them, the dashboard's list does not: a sentence, and the way out."""
    page = visit()
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="eve-1").click()
    expect(page.get_by_text("eve@example.org is not among those who may use")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    expect(page.get_by_role("button", name="Open the example")).to_have_count(0)


class Signed:
    """The identity cookie as the server signs it, made by hand."""

    def __init__(self, team: str) -> None:
        self.address = team
        self.claims = {
            "iss": "http://localhost", "sub": "ana-1", "email": "ana@example.org",
            "email_verified": True, "origin": team, "is_logged_in": True, "provider": "default",
        }  # fmt: skip

    def cookie(self, secret: str = SECRET, days_ago: float = 0.0, **other: object) -> list[dict]:
        class Then(TimestampSigner):
            def get_timestamp(self) -> int:
                return int(time.time() - days_ago * 86_400)

        serializer = URLSafeTimedSerializer(secret, salt=COOKIE, signer=Then)
        value = serializer.dumps(json.dumps(self.claims | other))
        value = value if isinstance(value, str) else value.decode()
        return [{"name": COOKIE, "value": value, "url": self.address}]


def test_forged_and_expired_cookies_open_nothing(visit, team) -> None:
    """A cookie of the right secret and age is somebody; another secret, an age of 32 days, one
    changed letter and another address are nobody."""
    signed = Signed(team)
    good = signed.cookie()
    page = visit("sessions", good)
    expect(page.get_by_text("Logged in as ana@example.org")).to_be_visible()
    value = good[0]["value"]
    bent = value[:20] + ("A" if value[20] != "A" else "B") + value[21:]
    for name, cookies in {
        "another secret": signed.cookie("another secret, also long enough"),
        "expired": signed.cookie(days_ago=32),
        "changed": [good[0] | {"value": bent}],
        "of another address": signed.cookie(origin="https://elsewhere.example"),
        "not signed": [good[0] | {"value": "ana"}],
    }.items():
        page = visit("sessions", cookies)
        at_the_door(page)
        assert page.get_by_text("Logged in as").count() == 0, name
