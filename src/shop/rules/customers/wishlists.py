"""Limits of wishlists."""

from shop.models.customers.inputs import MOST_WISHED_ITEMS

MOST_LISTS = 50
DEFAULT_NAME = "My wishes"
"""The name of a default list that is created on request."""
NO_MORE_LISTS = f"a user has at most {MOST_LISTS} wishlists; change or delete one"
NO_MORE_ITEMS = f"a wishlist holds at most {MOST_WISHED_ITEMS} items"
