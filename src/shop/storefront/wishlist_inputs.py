"""Structs that describe wishlist request bodies, and their readers."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.errors import Invalid, Malformed
from shop.base.ids import as_uuid
from shop.rules.cart.line_items import MOST_PIECES, NOT_POSITIVE, LineItemInput, parse_quantity
from shop.rules.customers.wishlists import LONGEST_NAME, MOST_ITEMS, name_error

_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, examples=["Birthday"])]
_Private = Annotated[bool, Meta(description="Whether only its owner can read it.")]
_Default = Annotated[bool, Meta(description="Makes it the default wishlist instead of the current one.")]
_Quantity = Annotated[int, Meta(ge=1, le=MOST_PIECES, examples=[2])]
_FLAGS = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}


class OwnWishlistFields(msgspec.Struct):
    """A new wishlist."""

    name: _Name
    is_private: _Private = True
    is_default: _Default = False


class OwnWishlistInput(msgspec.Struct):
    """The fields may also be at the top level of the body."""

    wishlist: OwnWishlistFields


class OwnWishlistUpdateFields(msgspec.Struct):
    """Changes only the given fields."""

    name: _Name | UnsetType = UNSET
    is_private: _Private | UnsetType = UNSET
    is_default: _Default | UnsetType = UNSET


class OwnWishlistUpdateInput(msgspec.Struct):
    """The fields may also be at the top level of the body."""

    wishlist: OwnWishlistUpdateFields | UnsetType = UNSET


class OwnWishedItemInput(msgspec.Struct):
    """A variant and its quantity; a variant that is already on the wishlist stays unchanged."""

    variant_id: UUID
    quantity: _Quantity = 1


class OwnWishedItemsInput(msgspec.Struct):
    """Several items at once, all or none. Variants already on the wishlist get this quantity."""

    wished_items: Annotated[list[OwnWishedItemInput], Meta(min_length=1, max_length=MOST_ITEMS)]


class WishedQuantityInput(msgspec.Struct):
    """The new quantity of a wished item."""

    quantity: _Quantity


def read_wishlist_fields(params: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
    """Read wishlist fields from the `wishlist` object or from the top level of the body."""
    fields = params.get("wishlist", params)
    if not isinstance(fields, dict):
        raise Malformed('"wishlist" must be an object.')
    errors: dict[str, list[str]] = {}
    wrong = name_error(fields.get("name")) if is_new or "name" in fields else None
    if wrong:
        errors["name"] = [wrong]
    flags = {name: _flag(fields[name]) for name in ("is_private", "is_default") if name in fields}
    errors |= {name: ["must be true or false"] for name, flag in flags.items() if flag is None}
    if errors:
        raise Invalid(errors)
    return flags | ({"name": fields["name"]} if "name" in fields else {})


def read_wished_item(params: Mapping[str, Any]) -> LineItemInput:
    errors: dict[str, list[str]] = {}
    wish = _read_item(params, "", errors)
    if wish is None:
        raise Invalid(errors, code=_code(errors))
    return wish


def read_wished_items(params: Mapping[str, Any]) -> list[LineItemInput]:
    items = params.get("wished_items")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_ITEMS:
        what = f"must be a list of 1 to {MOST_ITEMS} objects with a variant_id and a quantity"
        raise Invalid({"wished_items": [what]})
    errors: dict[str, list[str]] = {}
    wishes = [_read_item(item, f"wished_items.{place}.", errors) for place, item in enumerate(items)]
    if errors:
        raise Invalid(errors, code=_code(errors))
    return [wish for wish in wishes if wish]


def read_quantity(params: Mapping[str, Any]) -> int:
    quantity = parse_quantity(params.get("quantity"))
    if quantity is None:
        raise Invalid({"quantity": [NOT_POSITIVE]}, code="quantity_not_positive")
    return quantity


def read_item_ids(params: Mapping[str, Any]) -> Sequence[UUID]:
    """Read a list of ids or comma-separated ids."""
    value = params.get("wished_items_ids")
    texts = value.split(",") if isinstance(value, str) else value
    ids = [as_uuid(text) for text in texts] if isinstance(texts, list) else []
    item_ids = [item_id for item_id in ids if item_id]
    if not 0 < len(item_ids) == len(ids) <= MOST_ITEMS:
        raise Invalid({"wished_items_ids": [f"must be a list of 1 to {MOST_ITEMS} ids"]})
    return item_ids


def read_included_variant_id(params: Mapping[str, Any]) -> UUID | None:
    """Read the variant id of `is_variant_included`, or None."""
    value = params.get("is_variant_included")
    if value in (None, ""):
        return None
    variant_id = as_uuid(value)
    if variant_id is None:
        raise Malformed("The parameter is_variant_included takes the id of a variant.")
    return variant_id


def _read_item(item: Any, prefix: str, errors: dict[str, list[str]]) -> LineItemInput | None:
    """Read one item; add its errors under `prefix`."""
    if not isinstance(item, dict):
        errors[prefix.rstrip(".")] = ["must be an object"]
        return None
    variant_id, quantity = as_uuid(item.get("variant_id")), parse_quantity(item.get("quantity", 1))
    if variant_id is None:
        errors[f"{prefix}variant_id"] = ["must be the id of a variant"]
    if quantity is None:
        errors[f"{prefix}quantity"] = [NOT_POSITIVE]
    return None if variant_id is None or quantity is None else LineItemInput(variant_id, quantity)


def _code(errors: Mapping[str, Any]) -> str | None:
    """A specific error code if only quantities are invalid."""
    is_quantity = all(name.rpartition(".")[2] == "quantity" for name in errors)
    return "quantity_not_positive" if is_quantity else None


def _flag(value: Any) -> bool | None:
    """Read a flag; forms send it as text."""
    return _FLAGS.get(value) if isinstance(value, bool | str) else None
