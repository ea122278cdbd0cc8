"""Drafts: the amounts of their discounts.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
