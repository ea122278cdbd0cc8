"""Edits of placed orders: items, refunds and cancellations by line, division of shipments, notes.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
