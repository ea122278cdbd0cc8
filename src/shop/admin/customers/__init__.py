"""Accounts, addresses, customer groups and wishlists.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
