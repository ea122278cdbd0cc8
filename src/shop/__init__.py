"""The shop service.

`ls` here shows the house: four doors, a hall, verbs, decisions, look-ups, nouns.
Start with `docs/walk.md`, which follows one request through it.
"""
