"""Pages, policies and menus.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
