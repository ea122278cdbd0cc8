"""Sign-in, sessions, tokens, OAuth applications and operators.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
