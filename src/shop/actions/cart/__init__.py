"""Carts, line items, and the promotions that apply to them.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
