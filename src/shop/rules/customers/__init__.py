"""Accounts, addresses, customer groups and wishlists.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
