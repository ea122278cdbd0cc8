"""Bulk import and export of products and prices.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
