"""A session's work as one HTML file that needs no server and no network."""
