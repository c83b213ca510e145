"""A model's config.json: its shape, its weights and what a token of context takes."""
