"""Dashboard forms over the catalog.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
