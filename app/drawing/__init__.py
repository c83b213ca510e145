"""Tables, charts and texts as every page draws them."""
