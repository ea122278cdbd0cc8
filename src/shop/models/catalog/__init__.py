"""Products, variants, categories, prices, stock and images.
Rows and their tables.
No queries, no rules that involve several rows.
"""
