"""Accounts, addresses, customer groups and wishlists.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
