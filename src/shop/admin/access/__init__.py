"""Sign-in, sessions, tokens, OAuth applications and operators.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
