"""Housekeeping, integrity checks and the outbox.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
