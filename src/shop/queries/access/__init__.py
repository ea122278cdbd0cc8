"""Sign-in, sessions, tokens, OAuth applications and operators.
SQL statements and the functions that run them.
Never here: a decision.
"""
