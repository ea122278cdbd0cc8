"""Shop settings: countries, zones, taxes, shipping and payment methods.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
