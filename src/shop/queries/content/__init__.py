"""Pages, policies and menus.
SQL statements and the functions that run them.
Never here: a decision.
"""
