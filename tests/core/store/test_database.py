"""Which database is used, and what is said when it cannot be."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.errors import JobError, SettingError
from core.store import database
from core.store.__main__ import main
from core.store.jobs import JobClient, migrate


def test_setting_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's URL is taken as it is."""
    monkeypatch.setenv(database.URL_SETTING, "postgresql+psycopg://team@db/bucketwise")
    assert database.default_database_url() == "postgresql+psycopg://team@db/bucketwise"


def test_default_is_a_file_whose_folder_exists(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a setting it is a SQLite file, and its folder is made."""
    monkeypatch.delenv(database.URL_SETTING, raising=False)
    monkeypatch.setattr(database, "DEFAULT_FILE", tmp_path / "data" / "b.sqlite")
    assert database.default_database_url() == f"sqlite:///{tmp_path}/data/b.sqlite"
    assert (tmp_path / "data").is_dir()


@pytest.mark.parametrize("url", ["mysql://a@b/c", "sqlite://", "sqlite:///:memory:", "nonsense"])
def test_other_databases_are_refused(url: str) -> None:
    """Only a SQLite file and Postgres can be shared between dashboard and worker."""
    with pytest.raises(SettingError, match="sqlite:////path/file.sqlite"):
        database.checked_url(url)


def test_postgres_uses_the_driver_that_is_installed() -> None:
    """A plain postgresql:// URL means psycopg 3."""
    assert database.checked_url("postgresql://a@b/c").drivername == "postgresql+psycopg"


def test_passwords_are_not_printed() -> None:
    """An error about the URL leaves the password out."""
    with pytest.raises(SettingError) as caught:
        database.checked_url("mysql://user:hunter2@host/name")
    assert "hunter2" not in str(caught.value)


def test_migrating_twice_is_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m core.store migrate` may be repeated; afterwards a client can be made."""
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    assert main(["migrate", "--url", url]) == 0
    assert main(["migrate", "--url", url]) == 0
    assert "up to date" in capsys.readouterr().out
    client = JobClient(url)
    assert client.jobs() == []
    client.close()


def test_a_place_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: exit 2 and the reason."""
    assert main(["migrate", "--url", f"sqlite:///{tmp_path}/no/such/folder/a.sqlite"]) == 2
    assert "cannot be opened" in capsys.readouterr().err


def test_client_on_an_empty_database_says_how_to_make_tables(tmp_path: Path) -> None:
    """The client never makes tables; it names the command that does."""
    with pytest.raises(JobError, match="python -m core.store migrate"):
        JobClient(f"sqlite:///{tmp_path / 'empty.sqlite'}")


def test_clock_is_unix_time(tmp_path: Path) -> None:
    """The database's clock counts seconds since 1970, to a fraction."""
    engine = database.make_engine(f"sqlite:///{tmp_path / 'c.sqlite'}")
    with engine.connect() as connection:
        assert abs(database.now_s(connection) - time.time()) < 1.0
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar_one() == "wal"
    engine.dispose()


def test_migrate_refuses_other_databases() -> None:
    """migrate() checks the URL before it opens anything."""
    with pytest.raises(SettingError):
        migrate("mysql://a@b/c")
