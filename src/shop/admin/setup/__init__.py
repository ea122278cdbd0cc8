"""Shop settings: countries, zones, taxes, shipping and payment methods.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
