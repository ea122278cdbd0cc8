"""Promotion editing, coupon batches and promotion previews.
SQL statements and the functions that run them.
No business rules.
"""
