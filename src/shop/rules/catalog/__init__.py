"""Products, variants, categories, prices, stock and images.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
