"""Sign-in, sessions, tokens, OAuth applications and operators.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
