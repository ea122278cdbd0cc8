"""Completion, settlement, provider webhooks, saved cards and refunds.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
