"""Drafts: orders that operators prepare and place.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
