"""Products, variants, categories, prices, stock and images.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
