"""Accounts, addresses, customer groups and wishlists.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
