"""Pages, policies and menus.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
