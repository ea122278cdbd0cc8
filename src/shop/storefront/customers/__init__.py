"""Storefront endpoints of sign-in, accounts and wishlists.
No business rules, no SQL, no transactions.
Start with `account_routes.py` and `wishlist_routes.py`.
"""
