"""Bulk import and export of products and prices.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
