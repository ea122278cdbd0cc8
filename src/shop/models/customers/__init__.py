"""Accounts, addresses, customer groups and wishlists.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
