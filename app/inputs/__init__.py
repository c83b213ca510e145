"""Widgets into frozen dataclasses, a file a subject."""
