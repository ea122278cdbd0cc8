"""Pages, policies and menus.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
