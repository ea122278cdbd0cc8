"""Shop settings: countries, zones, taxes, shipping and payment methods.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
