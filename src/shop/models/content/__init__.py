"""Pages, policies and menus.
Rows and their tables.
No queries, no rules that involve several rows.
"""
