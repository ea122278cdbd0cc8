"""Shop settings: countries, zones, taxes, shipping and payment methods.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
