"""What makes a capture or a measured row fail."""
