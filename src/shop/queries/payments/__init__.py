"""Completion, settlement, provider webhooks, saved cards and refunds.
SQL statements and the functions that run them.
No business rules.
"""
