"""Carts, line items, and the promotions that apply to them.
SQL statements and the functions that run them.
No business rules.
"""
