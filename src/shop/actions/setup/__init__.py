"""Shop settings: countries, zones, taxes, shipping and payment methods.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
