"""Shop settings: countries, zones, taxes, shipping and payment methods.
SQL statements and the functions that run them.
No business rules.
"""
