"""What a step costs: assumed, measured or fitted, at any size and context."""
