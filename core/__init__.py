"""Everything that is true without a screen or a card."""
