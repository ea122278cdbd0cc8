"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Rows and their tables.
No queries, no rules that involve several rows.
"""
