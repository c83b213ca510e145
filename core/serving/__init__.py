"""Sweeps over load and number of graphs, and the sentence that answers."""
