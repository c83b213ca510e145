"""The Serve page's pieces: one simulated engine a bucket set, and the sweep."""
