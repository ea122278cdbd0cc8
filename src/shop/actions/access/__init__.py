"""Sign-in, sessions, tokens, OAuth applications and operators.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
