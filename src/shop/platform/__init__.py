"""The operator's door: /shop_oauth and /api/v2/platform.
Never here: a rule, SQL, a word of another door.
Look first at `routes.py`.
"""
