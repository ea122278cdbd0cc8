"""Limits on e-mail that unverified callers can cause.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
