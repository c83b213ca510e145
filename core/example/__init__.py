"""The example that the dashboard opens without an upload."""
