"""The shopper's door: /api/v2/storefront.
Never here: a rule, SQL, a word of another door.
Look first at `routes.py`, the table of what may be called.
"""
