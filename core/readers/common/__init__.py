"""What the readers share: opening, looking, splitting, counting what is left out."""
