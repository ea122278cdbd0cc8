"""Accounts, addresses, customer groups and wishlists.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
