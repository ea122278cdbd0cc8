"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
SQL statements and the functions that run them.
No business rules.
"""
