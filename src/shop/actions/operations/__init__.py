"""Housekeeping, integrity checks and the outbox.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
