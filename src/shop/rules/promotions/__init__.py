"""Editing promotions, coupon batches and preview.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
