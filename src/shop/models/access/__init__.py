"""Sign-in, sessions, tokens, OAuth applications and operators.
Rows and their tables.
No queries, no rules that involve several rows.
"""
