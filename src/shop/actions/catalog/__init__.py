"""Products, variants, categories, prices, stock and images.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
