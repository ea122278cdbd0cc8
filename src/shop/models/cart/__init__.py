"""Carts, line items, and the promotions that apply to them.
Rows and their tables.
No queries, no rules that involve several rows.
"""
