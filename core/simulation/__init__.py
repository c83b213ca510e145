"""Continuous batching, simulated: the machine, its step times, the loop and what comes out.

core.simulate is the import point; nothing outside imports these modules.
"""
