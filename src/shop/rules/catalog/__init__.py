"""Products, variants, categories, prices, stock and images.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
