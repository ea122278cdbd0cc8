"""Edits of placed orders: items, refunds and cancellations by line, division of shipments, notes.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
