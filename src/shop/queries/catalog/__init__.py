"""Products, variants, categories, prices, stock and images.
SQL statements and the functions that run them.
No business rules.
"""
