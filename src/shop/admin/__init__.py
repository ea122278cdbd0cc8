"""The dashboard: /admin, pages for the people who run the shop.
Never here: a rule, SQL, a word of another door.
Look first at `routes.py`, then at `session.py`.
"""
