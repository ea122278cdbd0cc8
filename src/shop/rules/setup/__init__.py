"""Shop settings: countries, zones, taxes, shipping and payment methods.
Decisions from values in hand.
Never here: a connection, a clock, a request, randomness.
"""
