"""Editing promotions, coupon batches and preview.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
