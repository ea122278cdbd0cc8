"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
