"""Input of account and wishlist actions."""

from typing import Annotated, TypedDict
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.input_types import Line, LookupId, Metadata, Quantity
from shop.base.values import MAX_LINE_LENGTH, REQUIRED, read_line

MAX_WISHED_ITEMS = 250
"""Limits the size of a response that contains all lists of a user with all their items."""
_NOT_A_LINE = "\n"


def _read_address_line(value: object) -> str:
    """Reads an invalid value as a line break, which is reported together with the other errors of the address."""
    try:
        return read_line(value)
    except ValueError:
        return _NOT_A_LINE


def read_wishlist_name(value: object) -> str:
    """Reads a name, which is shown on public pages."""
    name = read_line(value)
    if not name.strip():
        raise ValueError(REQUIRED)
    return name


AddressLine = Annotated[str, Meta(max_length=MAX_LINE_LENGTH, extra={"read": _read_address_line})]
_WishlistName = Annotated[
    str, Meta(min_length=1, max_length=MAX_LINE_LENGTH, examples=["Birthday"], extra={"read": read_wishlist_name})
]
_Private = Annotated[bool, Meta(description="Whether only its owner can read it.")]
_Default = Annotated[bool, Meta(description="Makes it the default wishlist instead of the current one.")]


class AddressInput(msgspec.Struct, frozen=True, kw_only=True):
    """The given fields of an address. Required fields besides the names depend on the country."""

    firstname: Annotated[AddressLine | None, Meta(examples=["Grace"])] | UnsetType = UNSET
    lastname: Annotated[AddressLine | None, Meta(examples=["Hopper"])] | UnsetType = UNSET
    company: Annotated[AddressLine | None, Meta(examples=["Compilers Ltd"])] | UnsetType = UNSET
    address1: Annotated[AddressLine | None, Meta(examples=["12 Regent Street"])] | UnsetType = UNSET
    address2: AddressLine | UnsetType | None = UNSET
    city: Annotated[AddressLine | None, Meta(examples=["London"])] | UnsetType = UNSET
    zipcode: Annotated[AddressLine | None, Meta(examples=["SW1Y 4PE"])] | UnsetType = UNSET
    phone: Annotated[AddressLine | None, Meta(examples=["+44 20 7946 0000"])] | UnsetType = UNSET
    label: (
        Annotated[AddressLine | None, Meta(description="The user's label for the address.", examples=["Home"])]
        | UnsetType
    ) = UNSET
    country_iso: (
        Annotated[AddressLine | None, Meta(description="The country's code of two or three letters.", examples=["GB"])]
        | UnsetType
    ) = UNSET
    country_id: Annotated[LookupId | None, Meta(description="Alternative to `country_iso`.")] | UnsetType = UNSET
    state_name: (
        Annotated[AddressLine | None, Meta(description="By name or abbreviation, where addresses have a state.")]
        | UnsetType
    ) = UNSET
    state_code: Annotated[AddressLine | None, Meta(description="Alternative to `state_name`.")] | UnsetType = UNSET
    state_id: Annotated[LookupId | None, Meta(description="Alternative to `state_name`.")] | UnsetType = UNSET


class CheckoutAddressInput(AddressInput, frozen=True, kw_only=True):
    """An address; with `id`, a change to one of the user's own addresses. Null is ignored."""

    id: LookupId | UnsetType | None = UNSET


class AccountFields(msgspec.Struct, frozen=True):
    """Changes only the given fields; null clears a field."""

    first_name: Annotated[Line | None, Meta(examples=["Grace"])] | UnsetType = UNSET
    last_name: Annotated[Line | None, Meta(examples=["Hopper"])] | UnsetType = UNSET
    selected_locale: Annotated[Line | None, Meta(examples=["en-GB"])] | UnsetType = UNSET
    email: Annotated[str, Meta(description="The user's e-mail; it cannot be changed here.")] | UnsetType = UNSET
    public_metadata: Metadata | UnsetType = UNSET
    bill_address_id: (
        Annotated[LookupId | None, Meta(description="The default billing address, one of the user's addresses.")]
        | UnsetType
    ) = UNSET
    ship_address_id: (
        Annotated[LookupId | None, Meta(description="The default shipping address, one of the user's addresses.")]
        | UnsetType
    ) = UNSET


class AccountInput(msgspec.Struct, frozen=True):
    """The e-mail address cannot be changed here."""

    user: AccountFields


class AccountAddressUpdateFields(AddressInput, frozen=True, kw_only=True):
    """Required fields besides the names depend on the country. Omitted fields stay unchanged."""


class AccountAddressFields(AddressInput, frozen=True, kw_only=True):
    """Required fields besides the names depend on the country."""

    # A missing name is reported together with the other errors of the address.
    firstname: Annotated[AddressLine, Meta(examples=["Grace"], extra={"absent": None})]
    lastname: Annotated[AddressLine, Meta(examples=["Hopper"], extra={"absent": None})]


class AccountAddressInput(msgspec.Struct, frozen=True):
    """An address of the user; the first one becomes both defaults."""

    address: AccountAddressFields


class AccountAddressUpdateInput(msgspec.Struct, frozen=True):
    """Changes only the given fields. Completed orders keep the address as it was."""

    address: AccountAddressUpdateFields


class OwnWishlistFields(msgspec.Struct, frozen=True):
    """A new wishlist."""

    name: _WishlistName
    is_private: _Private = True
    is_default: _Default = False


class OwnWishlistInput(msgspec.Struct, frozen=True):
    """The fields may also be at the top level of the body."""

    wishlist: OwnWishlistFields


class OwnWishlistUpdateFields(msgspec.Struct, frozen=True):
    """Changes only the given fields."""

    name: _WishlistName | UnsetType = UNSET
    is_private: _Private | UnsetType = UNSET
    is_default: _Default | UnsetType = UNSET


class OwnWishlistUpdateInput(msgspec.Struct, frozen=True):
    """The fields may also be at the top level of the body."""

    wishlist: OwnWishlistUpdateFields | UnsetType = UNSET


class OwnWishedItemInput(msgspec.Struct, frozen=True):
    """A variant and its quantity; a variant that is already on the wishlist keeps its quantity."""

    variant_id: UUID
    quantity: Quantity = 1
    notify_when_in_stock: bool | UnsetType = UNSET
    """Whether to tell the owner by e-mail, once, when the variant is back in stock."""


class OwnWishedItemsInput(msgspec.Struct, frozen=True):
    """Several items at once, all or none. Variants already on the wishlist get this quantity."""

    wished_items: Annotated[list[OwnWishedItemInput], Meta(min_length=1, max_length=MAX_WISHED_ITEMS)]


class WishedItemIdsInput(msgspec.Struct, frozen=True):
    """The items to remove; those that are not on the wishlist are ignored."""

    wished_items_ids: Annotated[list[UUID], Meta(min_length=1, max_length=MAX_WISHED_ITEMS)]


class WishedQuantityInput(msgspec.Struct, frozen=True):
    """The new quantity of a wished item, or whether to tell its owner when it is back in stock."""

    quantity: Quantity | UnsetType = UNSET
    notify_when_in_stock: bool | UnsetType = UNSET


class WishlistInput(TypedDict, total=False):
    """The fields of a wishlist in the Platform API."""

    user_id: UUID
    name: str
    is_private: bool
    is_default: bool


class WishedItemInput(TypedDict, total=False):
    """The fields of a wished item in the Platform API."""

    wishlist_id: UUID
    variant_id: UUID
    quantity: int
    notify_when_in_stock: bool
