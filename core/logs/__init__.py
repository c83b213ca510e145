"""What engines print, parsed once: one file an engine, one typed EngineLog out of it.

Prefixes, colours, carriage returns and progress bars are taken off in lines.py, prefix.py and
bars.py; what a log states keeps its line as evidence.
"""
