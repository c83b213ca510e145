"""The pieces of the Learn page, one a lesson; each runs its lesson of core.lab and draws it."""
