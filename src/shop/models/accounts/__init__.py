"""Erasures of personal data.
Rows and their tables.
No queries, no rules that involve several rows.
"""
