"""Edits of placed orders: items, refunds and cancellations by line, division of shipments, notes.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
