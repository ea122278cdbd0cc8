"""Shop settings: countries, zones, taxes, shipping and payment methods.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
