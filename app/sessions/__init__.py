"""The kept session on the pages: saving, opening, conflicts, sharing and comparing."""
