"""Statements of the product grid and of batches of changes.
SQL statements and the functions that run them.
No business rules.
"""
