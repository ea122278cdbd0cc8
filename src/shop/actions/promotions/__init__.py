"""Promotion editing, coupon batches and promotion previews.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
