"""What bodies about wishlists hold: the structs that describe them, and how each is read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.errors import Invalid, Malformed
from shop.base.ids import as_uuid
from shop.rules.cart.line_items import MOST_PIECES, NOT_POSITIVE, Wish, read_pieces
from shop.rules.customers.wishlists import LONGEST_NAME, MOST_ITEMS, name_error

_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, examples=["Birthday"])]
_Private = Annotated[bool, Meta(description="Whether its owner alone may see it.")]
_Default = Annotated[bool, Meta(description="Makes it the default in place of the one that was.")]
_Quantity = Annotated[int, Meta(ge=1, le=MOST_PIECES, examples=[2])]
_FLAGS = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}


class NewWishlistWishes(msgspec.Struct):
    """A list to be."""

    name: _Name
    is_private: _Private = True
    is_default: _Default = False


class NewWishlist(msgspec.Struct):
    """The fields may also stand in the body by themselves."""

    wishlist: NewWishlistWishes


class WishlistWishes(msgspec.Struct):
    """Changes what is given and nothing else."""

    name: _Name | UnsetType = UNSET
    is_private: _Private | UnsetType = UNSET
    is_default: _Default | UnsetType = UNSET


class WishlistUpdate(msgspec.Struct):
    """The fields may also stand in the body by themselves."""

    wishlist: WishlistWishes | UnsetType = UNSET


class AddWishedItem(msgspec.Struct):
    """A variant, and how many of it; one that stands on the list already stays as it is."""

    variant_id: UUID
    quantity: _Quantity = 1


class AddWishedItems(msgspec.Struct):
    """Several at once: all of them or none. Those that are there get this quantity."""

    wished_items: Annotated[list[AddWishedItem], Meta(min_length=1, max_length=MOST_ITEMS)]


class SetWishedQuantity(msgspec.Struct):
    """How many are wished for from now on."""

    quantity: _Quantity


def read_list(params: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
    """What is to be of a list: the wrapped object, or the fields as they stand in the body."""
    given = params.get("wishlist", params)
    if not isinstance(given, dict):
        raise Malformed('"wishlist" must be an object.')
    errors: dict[str, list[str]] = {}
    wrong = name_error(given.get("name")) if is_new or "name" in given else None
    if wrong:
        errors["name"] = [wrong]
    flags = {name: _flag(given[name]) for name in ("is_private", "is_default") if name in given}
    errors |= {name: ["must be true or false"] for name, flag in flags.items() if flag is None}
    if errors:
        raise Invalid(errors)
    return flags | ({"name": given["name"]} if "name" in given else {})


def read_wish(params: Mapping[str, Any]) -> Wish:
    errors: dict[str, list[str]] = {}
    wish = _wish(params, "", errors)
    if wish is None:
        raise Invalid(errors, code=_code(errors))
    return wish


def read_wishes(params: Mapping[str, Any]) -> list[Wish]:
    given = params.get("wished_items")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_ITEMS:
        what = f"must be a list of 1 to {MOST_ITEMS} objects with a variant_id and a quantity"
        raise Invalid({"wished_items": [what]})
    errors: dict[str, list[str]] = {}
    wishes = [_wish(item, f"wished_items.{place}.", errors) for place, item in enumerate(given)]
    if errors:
        raise Invalid(errors, code=_code(errors))
    return [wish for wish in wishes if wish]


def read_quantity(params: Mapping[str, Any]) -> int:
    quantity = read_pieces(params.get("quantity"))
    if quantity is None:
        raise Invalid({"quantity": [NOT_POSITIVE]}, code="quantity_not_positive")
    return quantity


def read_item_ids(params: Mapping[str, Any]) -> Sequence[UUID]:
    """A list, or ids with commas between them."""
    given = params.get("wished_items_ids")
    texts = given.split(",") if isinstance(given, str) else given
    ids = [as_uuid(text) for text in texts] if isinstance(texts, list) else []
    found = [item_id for item_id in ids if item_id]
    if not 0 < len(found) == len(ids) <= MOST_ITEMS:
        raise Invalid({"wished_items_ids": [f"must be a list of 1 to {MOST_ITEMS} ids"]})
    return found


def read_variant_asked(params: Mapping[str, Any]) -> UUID | None:
    """The variant of which it is asked whether it stands on a list; none when nothing is asked."""
    given = params.get("is_variant_included")
    if given in (None, ""):
        return None
    found = as_uuid(given)
    if found is None:
        raise Malformed("The parameter is_variant_included takes the id of a variant.")
    return found


def _wish(given: Any, prefix: str, errors: dict[str, list[str]]) -> Wish | None:
    """What is wrong with it is noted under its place."""
    if not isinstance(given, dict):
        errors[prefix.rstrip(".")] = ["must be an object"]
        return None
    variant_id, quantity = as_uuid(given.get("variant_id")), read_pieces(given.get("quantity", 1))
    if variant_id is None:
        errors[f"{prefix}variant_id"] = ["must be the id of a variant"]
    if quantity is None:
        errors[f"{prefix}quantity"] = [NOT_POSITIVE]
    return None if variant_id is None or quantity is None else Wish(variant_id, quantity)


def _code(errors: Mapping[str, Any]) -> str | None:
    """Its own word where nothing but quantities is wrong."""
    is_quantity = all(name.rpartition(".")[2] == "quantity" for name in errors)
    return "quantity_not_positive" if is_quantity else None


def _flag(value: Any) -> bool | None:
    """A form has it as a text."""
    return _FLAGS.get(value) if isinstance(value, bool | str) else None
