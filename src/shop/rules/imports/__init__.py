"""Bulk import and export of products and prices.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
