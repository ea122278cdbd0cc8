"""Bulk import and export of products and prices.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
