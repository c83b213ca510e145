"""What was uploaded, and the step sizes that follow from it."""
