"""Carts, line items, and the promotions that apply to them.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
