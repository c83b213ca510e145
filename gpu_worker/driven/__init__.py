"""An installed engine as the thing measured: started in a child, stepped, timed and killed."""
