"""Backups: the list of them, and the manifest of each.
Rows and their tables.
No queries, no rules that involve several rows.
"""
