"""Editing promotions, coupon batches and preview.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
