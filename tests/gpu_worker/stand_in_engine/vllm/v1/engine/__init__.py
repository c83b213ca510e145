"""Parts of the stand-in that have their place in vLLM."""
