"""Editing promotions, coupon batches and preview.
SQL statements and the functions that run them.
Never here: a decision.
"""
