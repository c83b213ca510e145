"""Alembic's folder: one module a schema revision, applied by core.store.migrate."""
