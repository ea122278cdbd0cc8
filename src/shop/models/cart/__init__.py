"""Carts, line items, and the promotions that apply to them.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
