"""Products, variants, categories, prices, stock and images.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
