"""Bulk import and export of products and prices.
SQL statements and the functions that run them.
No business rules.
"""
