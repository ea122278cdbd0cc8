"""Input of cart actions."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.input_types import LookupId, Metadata, Quantity
from shop.base.values import NO_RECORD, read_key

MAX_LINES = 500
Strategy = Literal["merge", "keep_guest", "keep_user"]


class CartInput(msgspec.Struct, frozen=True):
    """All fields, and the body itself, are optional."""

    currency: (
        Annotated[
            str | None,
            Meta(
                description="A currency of the shop; otherwise the shop's first currency. Also read from the query.",
                examples=["EUR"],
                extra={"read": read_key},
            ),
        ]
        | UnsetType
    ) = UNSET
    public_metadata: Metadata | UnsetType = UNSET
    private_metadata: Metadata | UnsetType = UNSET


class CartItemInput(msgspec.Struct, frozen=True):
    """A variant and its quantity; the same variant twice is one line item."""

    variant_id: LookupId
    quantity: Quantity = 1
    public_metadata: Metadata | UnsetType = UNSET
    private_metadata: Metadata | UnsetType = UNSET


class CartItemsInput(msgspec.Struct, frozen=True):
    """Several items at once; if one is invalid, none is added, and errors name each invalid item by its index."""

    items: Annotated[list[CartItemInput], Meta(min_length=1, max_length=MAX_LINES, extra={"code": None})]


class CartQuantityInput(msgspec.Struct, frozen=True):
    """The new quantity of a line item."""

    line_item_id: Annotated[LookupId, Meta(extra={"absent": NO_RECORD})]
    quantity: Quantity


class CartCurrencyInput(msgspec.Struct, frozen=True):
    """A currency of the shop. Line items without a price in it stay and are listed in `meta.warnings`."""

    new_currency: Annotated[str, Meta(examples=["EUR"], extra={"code": "currency_not_supported"})]


class GuestCartInput(msgspec.Struct, frozen=True):
    """The guest's cart, and how to combine it with the user's cart."""

    guest_order_token: Annotated[
        str,
        Meta(
            description="The order token of the guest's cart. The response has a new one in `token`. "
            "The same user can repeat the request with the old token for ten minutes.",
            examples=["shpot_TheGuestsOrderToken"],
            # As with an invalid token, the cart is not found.
            extra={"read": read_key, "absent": ""},
        ),
    ]
    strategy: Annotated[
        Strategy,
        Meta(
            description="`merge`: the guest's cart is kept and receives the line items of the user's cart. "
            "`keep_guest`, `keep_user`: that cart is kept unchanged."
        ),
    ] = "merge"
    dry_run: Annotated[bool, Meta(description="Report what would happen without saving.")] = False
