"""Products, variants, categories, prices, stock and images.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
