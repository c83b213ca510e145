"""A migrated database a test, on SQLite and on Postgres, as for the store's own tests."""

from tests.core.store.conftest import backend, client, migrated_file, url

__all__ = ["backend", "client", "migrated_file", "url"]
