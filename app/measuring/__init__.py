"""Jobs and profiles on the pages: sending, following, and drawing what a worker measured."""
