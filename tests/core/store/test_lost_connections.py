"""A database that cannot be reached is one to wait for, in whatever words the driver says it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from dbos._utils import retriable_postgres_exception
from sqlalchemy import event, exc

from core.store import lost_connections
from core.store.lost_connections import wait_for_lost_databases

URLS = (
    "postgresql+psycopg://u@/d?host=/nowhere/at/all",
    "postgresql+psycopg://u@127.0.0.1:9/d",
)


@pytest.fixture
def waiting() -> Iterator[None]:
    """As in a worker; called twice, as by a process that starts the engine again."""
    wait_for_lost_databases()
    wait_for_lost_databases()
    yield
    event.remove(sa.Engine, "handle_error", lost_connections._mark)


def refused(url: str) -> exc.OperationalError:
    """The error of a connect that nobody answers."""
    engine = sa.create_engine(url)
    with pytest.raises(exc.OperationalError) as caught:
        engine.connect()
    return caught.value


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("url", URLS)
def test_a_server_that_is_gone_is_waited_for(url: str) -> None:
    """By socket ("connection is bad") and by address ("connection failed")."""
    assert retriable_postgres_exception(refused(url))


def test_the_engine_alone_would_give_up() -> None:
    """Why this is needed; once it fails, the module can go."""
    assert not retriable_postgres_exception(refused(URLS[0]))


@pytest.mark.usefixtures("waiting")
def test_a_wrong_statement_is_not_waited_for() -> None:
    """It would never come right."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(exc.OperationalError) as caught:
        connection.execute(sa.text("SELECT * FROM nowhere"))
    assert not caught.value.connection_invalidated
