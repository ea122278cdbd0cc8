"""Edits of placed orders: items, refunds and cancellations by line, division of shipments, notes.
SQL statements and the functions that run them.
No business rules.
"""
