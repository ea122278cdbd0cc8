"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
SQL statements and the functions that run them.
Never here: a decision.
"""
