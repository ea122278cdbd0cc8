"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
