"""Erasing and merging accounts of customers.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
