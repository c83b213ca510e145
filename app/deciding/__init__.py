"""The Buckets page's pieces: choosing, editing, judging and exporting bucket sets."""
