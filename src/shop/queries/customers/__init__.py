"""Accounts, addresses, customer groups and wishlists.
SQL statements and the functions that run them.
No business rules.
"""
