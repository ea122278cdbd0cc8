"""What a wishlist may be called, and how much may stand on one."""

from typing import Any

from shop.base.texts import is_line

MOST_LISTS = 50
MOST_ITEMS = 250
"""So many that all lists of a user with all that is on them are still one answer of moderate size."""
LONGEST_NAME = 255
DEFAULT_NAME = "My wishes"
"""Of the list that is made for who asks for their default one and has none."""
NO_MORE_LISTS = f"a user has at most {MOST_LISTS} wishlists; change one of them, or remove one"
NO_MORE_ITEMS = f"a wishlist holds at most {MOST_ITEMS} items"


def name_error(name: Any) -> str | None:
    """What is wrong with a name; it stands on pages that others are shown."""
    if name is None or name == "":
        return "must be given"
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not is_line(name):
        return f"must be one line of at most {LONGEST_NAME} characters, and not only of spaces"
    return None
