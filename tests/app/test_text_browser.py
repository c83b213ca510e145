"""What other people typed, in a real browser: shown as typed, and nothing of it loads or runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.records.session import TuningSession, WorkloadRef
from core.store.jobs import migrate
from core.store.sessions import Role, SessionStore
from tests.app.dashboard import dashboard
from tests.core.store.session_cases import DOCUMENT, READING

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000
HOSTILE = (
    "<img src=http://evil.example onerror=\"document.title='run'\"> ![i](http://evil.example) "
    "[l](http://evil.example) :red[x] $x$ `y` *z* </h3><script>document.title='run'</script>"
)
MARKUP = "![i](http://evil.example) [l](http://evil.example) :red[x] $x$ `y` *z*"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """(address, session's id, key of its viewer's link) of a session with hostile texts."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    url = f"sqlite:///{folder / 'sessions.sqlite'}"
    migrate(url)
    store = SessionStore(url)
    assert DOCUMENT.workload is not None
    settings = {"sets": ["Powers of two", HOSTILE], "own_sizes": HOSTILE, "best_objective": HOSTILE}
    document = TuningSession(
        HOSTILE,
        WorkloadRef(HOSTILE, DOCUMENT.workload.digest),
        settings,
        profiles={HOSTILE: next(iter(DOCUMENT.profiles.values()))},
        notes=HOSTILE,
    )
    session_id = store.create("local", document, READING)
    store.comment(session_id, "local", HOSTILE)
    store.save(session_id, replace(document, notes=f"2 {HOSTILE}"), 1, "local")
    key = store.share(session_id, "local", Role.VIEWER)
    store.introduce("guest:x", HOSTILE)
    store.close()
    with dashboard(folder) as address:
        yield address, session_id, key


@pytest.mark.parametrize(
    "path",
    [
        "sessions?session={id}",
        "compare?first={id}&second={id}&first_version=1",
        "buckets?key={key}",
        pytest.param("?session={id}", marks=pytest.mark.slow),
        pytest.param("memory?session={id}", marks=pytest.mark.slow),
        pytest.param("serve?session={id}", marks=pytest.mark.slow),
    ],
)
def test_nothing_of_a_hostile_text_loads_or_runs(browser, hostile, path: str) -> None:
    """No request leaves the dashboard, no picture, link or script comes of a name, a note, a
    comment or a setting; the texts are there as they were typed, and nothing breaks the policy."""
    address, session_id, key = hostile
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    outside: list[str] = []
    refused: list[str] = []
    host = urlsplit(address).netloc
    page.on(
        "request",
        lambda r: (
            None
            if urlsplit(r.url).netloc in (host, "") or r.url.startswith("blob:")
            else outside.append(r.url)
        ),
    )
    page.on(
        "console",
        lambda m: refused.append(m.text) if "Content Security Policy" in m.text else None,
    )
    page.goto(f"{address}/{path.format(id=session_id, key=key)}")
    idle = '[data-testid="stApp"][data-test-script-state="notRunning"]'
    page.wait_for_selector(idle)
    page.get_by_text(HOSTILE[:39], exact=False).first.wait_for(state="attached")
    page.wait_for_selector(idle)
    for fold in page.locator('[data-testid="stMain"] details > summary').all():
        fold.click()
    page.wait_for_timeout(500)
    assert outside == [] and refused == []
    assert page.title() == "Bucketwise"
    assert (
        page.locator(
            'img[src*="evil"], a[href*="evil"]:not(:text-is("http://evil.example"))'
        ).count()
        == 0
    )
    assert page.locator('script:has-text("document.title")').count() == 0
    if "session=" in page.url:  # open, so its name and its traffic's stand beside every page
        assert page.locator('[data-testid="stSidebar"]').inner_text().count(MARKUP) == 2
    assert page.locator('[data-testid="stException"]').count() == 0
    page.close()
