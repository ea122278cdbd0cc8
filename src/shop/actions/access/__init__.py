"""Sign-in, sessions, tokens, OAuth applications and operators.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
