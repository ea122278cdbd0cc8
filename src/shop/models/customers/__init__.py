"""Accounts, addresses, customer groups and wishlists.
Rows and their tables.
No queries, no rules that involve several rows.
"""
