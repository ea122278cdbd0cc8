"""Decides which details an account has after a duplicate was merged into it."""

from typing import Any

from shop.base.errors import Invalid
from shop.models.access.users import User

MAX_TAGS, MAX_NOTE_LENGTH = 20, 2000


def merge_details(survivor: User, duplicate: User) -> dict[str, Any]:
    """Returns the details of the survivor: its own, and those of the duplicate where it has none; notes and tags of
    both.
    """
    tags = sorted({*survivor.tags, *duplicate.tags})
    note = "\n".join(text for text in (survivor.note, duplicate.note) if text)
    errors = {}
    if len(tags) > MAX_TAGS:
        errors["tags"] = [f"of both accounts are more than {MAX_TAGS}; remove some first"]
    if len(note) > MAX_NOTE_LENGTH:
        errors["note"] = [f"of both accounts has more than {MAX_NOTE_LENGTH:,} characters; shorten one first"]
    if errors:
        raise Invalid(errors)
    names = ("first_name", "last_name", "phone", "selected_locale", "bill_address_id", "ship_address_id")
    return {
        **{name: getattr(survivor, name) or getattr(duplicate, name) for name in names},
        "note": note or None,
        "tags": tags,
        "public_metadata": {**duplicate.public_metadata, **survivor.public_metadata},
        "private_metadata": {**duplicate.private_metadata, **survivor.private_metadata},
    }
