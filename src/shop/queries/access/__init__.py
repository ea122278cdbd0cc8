"""Sign-in, sessions, tokens, OAuth applications and operators.
SQL statements and the functions that run them.
No business rules.
"""
