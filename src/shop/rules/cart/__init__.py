"""Carts, line items, and the promotions that apply to them.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
