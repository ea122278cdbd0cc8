"""Typed rows with their tables, keys, indexes and checks, grouped by area.
No queries, no rules that involve several rows, no API names.
Start with `cart/orders.py`.
"""
