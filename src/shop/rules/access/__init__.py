"""Sign-in, sessions, tokens, OAuth applications and operators.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
