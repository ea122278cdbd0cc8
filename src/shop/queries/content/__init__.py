"""Pages, policies and menus.
SQL statements and the functions that run them.
No business rules.
"""
