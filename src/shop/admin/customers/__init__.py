"""Accounts, addresses, customer groups and wishlists.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
