"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
