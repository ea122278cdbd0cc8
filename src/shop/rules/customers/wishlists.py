"""Limits of wishlists."""

from shop.models.customers.inputs import MAX_WISHED_ITEMS

MAX_LISTS = 50
DEFAULT_NAME = "My wishes"
"""The name of a default list that is created on request."""
NO_MORE_LISTS = f"a user has at most {MAX_LISTS} wishlists; change or delete one"
NO_MORE_ITEMS = f"a wishlist holds at most {MAX_WISHED_ITEMS} items"
