"""Dashboard forms over the catalog.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
