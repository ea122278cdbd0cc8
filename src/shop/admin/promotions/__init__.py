"""Editing promotions, coupon batches and preview.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
