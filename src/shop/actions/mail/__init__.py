"""Limits on mail that unverified callers can cause.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
