"""Typed rows with their tables, keys, indexes and checks, grouped by area.
Never here: a query, a decision over several rows, a name on the wire.
Start with `cart/orders.py`.
"""
