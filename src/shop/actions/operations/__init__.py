"""Housekeeping, integrity checks and the outbox.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
