"""Drafts: orders that operators prepare.
SQL statements and the functions that run them.
No business rules.
"""
