"""Pages, policies and menus.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
