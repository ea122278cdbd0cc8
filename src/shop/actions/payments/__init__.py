"""Completion, settlement, provider webhooks, saved cards and refunds.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
