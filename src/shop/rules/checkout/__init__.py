"""Checkout steps, shipments, payment choice, store credit, coupons and stock holds.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
