"""Housekeeping, integrity checks and the outbox.
SQL statements and the functions that run them.
No business rules.
"""
