"""Promotion settings and the Spree type names.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
