"""Shop settings: countries, zones, taxes, shipping and payment methods.
Rows and their tables.
No queries, no rules that involve several rows.
"""
