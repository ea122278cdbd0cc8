"""Sign-in, sessions, tokens, OAuth applications and operators.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
