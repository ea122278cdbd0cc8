"""Edits of placed orders: items, refunds and cancellations by line, division of shipments, notes.
Rows and their tables.
No queries, no rules that involve several rows.
"""
