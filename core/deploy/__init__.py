"""Deployment files: which engines they start, in which release, with which settings.

A file of any kind (one module a kind under `kinds`) becomes `Deployment` records whose text the
engine's own settings parser reads. Nothing is executed, and what is not understood is said.
"""
