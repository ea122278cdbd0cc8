"""Statements of the dashboard pages over the catalog.
SQL statements and the functions that run them.
No business rules.
"""
