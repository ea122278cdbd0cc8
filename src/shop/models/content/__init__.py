"""Pages, policies and menus.
Rows and their tables.
Never here: a query, a decision over several rows.
"""
