"""Limits and name rules of wishlists."""

from typing import Any

from shop.base.texts import is_line

MOST_LISTS = 50
MOST_ITEMS = 250
"""Low enough that all lists of a user with all their items fit in one response of moderate size."""
LONGEST_NAME = 255
DEFAULT_NAME = "My wishes"
"""The name of a default list that is created on request."""
NO_MORE_LISTS = f"a user has at most {MOST_LISTS} wishlists; change or delete one"
NO_MORE_ITEMS = f"a wishlist holds at most {MOST_ITEMS} items"


def name_error(name: Any) -> str | None:
    """Returns the error of a name, which is shown on public pages, or None."""
    if name is None or name == "":
        return "must be given"
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not is_line(name):
        return f"must be one line of at most {LONGEST_NAME} characters, and not only of spaces"
    return None
