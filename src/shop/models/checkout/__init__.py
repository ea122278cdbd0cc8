"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
