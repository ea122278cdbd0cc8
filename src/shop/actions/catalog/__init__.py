"""Products, variants, categories, prices, stock and images.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
