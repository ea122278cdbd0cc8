"""Carts, line items, and the promotions that apply to them.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
