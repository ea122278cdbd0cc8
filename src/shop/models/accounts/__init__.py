"""Erasures of personal data, and merges of accounts.
Rows and their tables.
No queries, no rules that involve several rows.
"""
