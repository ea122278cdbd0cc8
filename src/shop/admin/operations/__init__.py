"""Housekeeping, integrity checks and the outbox.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
