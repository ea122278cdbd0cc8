"""The decisions: from values already in hand to what follows from them.
Never here: a connection, a clock, a request, randomness.
Look first at the topic: `codes.py`, `limits.py`, `refresh.py`, `merging.py`, `addresses.py`.
"""
