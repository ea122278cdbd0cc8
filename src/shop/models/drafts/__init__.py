"""Drafts: orders that operators prepare.
Rows and their tables.
No queries, no rules that involve several rows.
"""
