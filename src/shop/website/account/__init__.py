"""Sign-in and account pages: orders, addresses, wishlists, cards, store credit, sessions, profile.
Every page and form but sign-in and shared wishlists requires a session; see `access.py`.
Start with `routes.py`, then `access.py` and `sign_in.py`.
"""
