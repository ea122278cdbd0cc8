"""Structs that describe request bodies, and the reader of a wrapped object.

The structs document the bodies in the API reference; handlers parse bodies themselves, to report every invalid field.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.errors import Malformed
from shop.rules.cart.cart_merge import Strategy
from shop.rules.checkout.steps import CheckoutRequirement

_Email = Annotated[str, Meta(description="One e-mail address.", examples=["grace@example.org"], max_length=254)]
_Line = Annotated[str, Meta(max_length=255)]
_Metadata = Annotated[
    dict[str, Any], Meta(description="Any object for use by clients, replaced as a whole; at most 16 KiB as JSON.")
]


def read_wrapped_object(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = params.get(name)
    if not isinstance(value, dict):
        raise Malformed(f'The body must have an object "{name}".')
    return value


class LoginCodeUser(msgspec.Struct):
    """Without `code` and `refresh_token`, a login code is sent by e-mail."""

    email: _Email
    first_name: Annotated[_Line | None, Meta(description="For a new user.", examples=["Grace"])] | UnsetType = UNSET
    last_name: Annotated[_Line | None, Meta(description="For a new user.", examples=["Hopper"])] | UnsetType = UNSET


class LoginUser(msgspec.Struct):
    """The login code from the e-mail, exchanged for tokens."""

    email: _Email
    code: Annotated[
        str,
        Meta(
            description="The six digits from the e-mail, or its 26 characters in any case and grouping.",
            examples=["123456"],
        ),
    ]


class TokenRefreshUser(msgspec.Struct):
    """A refresh token, exchanged for a new token pair."""

    email: _Email
    refresh_token: Annotated[
        str,
        Meta(
            description="The newest refresh token of the session; the response replaces it.",
            examples=["shprt_TheRefreshToken"],
        ),
    ]


class LoginCodeInput(msgspec.Struct):
    """Requests a login code by e-mail; the response is the same whether or not the address is known."""

    user: LoginCodeUser


class LoginInput(msgspec.Struct):
    """Exchanges the login code from the e-mail for tokens."""

    user: LoginUser


class TokenRefreshInput(msgspec.Struct):
    """Exchanges a refresh token for a new token pair."""

    user: TokenRefreshUser


SignIn = LoginCodeInput | LoginInput | TokenRefreshInput


class LoginNotice(msgspec.Struct, frozen=True):
    """Confirms the request for a login code."""

    message: Annotated[str, Meta(examples=["If this address can receive mail, a code is on its way."])]


class CartInput(msgspec.Struct):
    """All fields, and the body itself, are optional."""

    currency: (
        Annotated[
            str,
            Meta(
                description="A currency of the shop; otherwise the shop's first currency. Also read from the query.",
                examples=["EUR"],
            ),
        ]
        | UnsetType
    ) = UNSET
    public_metadata: _Metadata | UnsetType = UNSET
    private_metadata: _Metadata | UnsetType = UNSET


_Quantity = Annotated[int, Meta(ge=1, le=1_000_000, examples=[2])]


class CartItemInput(msgspec.Struct):
    """A variant and its quantity; the same variant twice is one line item."""

    variant_id: UUID
    quantity: _Quantity = 1
    public_metadata: _Metadata | UnsetType = UNSET
    private_metadata: _Metadata | UnsetType = UNSET


class CartItemsInput(msgspec.Struct):
    """Several items at once; if one is invalid, none is added, and errors name each invalid item by its index."""

    items: Annotated[list[CartItemInput], Meta(min_length=1, max_length=500)]


class CartQuantityInput(msgspec.Struct):
    """The new quantity of a line item."""

    line_item_id: UUID
    quantity: _Quantity


class CartCurrencyInput(msgspec.Struct):
    """A currency of the shop. Line items without a price in it stay and are listed in `meta.warnings`."""

    new_currency: Annotated[str, Meta(examples=["EUR"])]


class CartCouponInput(msgspec.Struct):
    """Case and surrounding spaces of the code do not matter."""

    coupon_code: Annotated[str, Meta(examples=["MOONRISE"])]


class CheckoutCreditInput(msgspec.Struct):
    """The amount to pay with store credit; by default as much as possible."""

    amount: Annotated[str | float, Meta(examples=["10.00", 10])] | UnsetType = UNSET


class EmptyBody(msgspec.Struct):
    """An empty object, or no body at all."""


class CheckoutAddressInput(msgspec.Struct):
    """An address; with `id`, a change to one of the user's own addresses."""

    firstname: _Line | UnsetType = UNSET
    lastname: _Line | UnsetType = UNSET
    address1: _Line | UnsetType = UNSET
    address2: _Line | UnsetType | None = UNSET
    city: _Line | UnsetType = UNSET
    zipcode: _Line | UnsetType = UNSET
    state_name: _Line | UnsetType | None = UNSET
    country_iso: Annotated[str, Meta(examples=["US"])] | UnsetType = UNSET
    phone: _Line | UnsetType | None = UNSET
    company: _Line | UnsetType | None = UNSET
    id: UUID | UnsetType = UNSET


class PaymentSourceInput(msgspec.Struct):
    """Card details from the payment provider's form; never the card number."""

    gateway_payment_profile_id: _Line | UnsetType = UNSET
    cc_type: _Line | UnsetType = UNSET
    last_digits: Annotated[str, Meta(pattern="^[0-9]{4}$")] | UnsetType = UNSET
    month: int | UnsetType = UNSET
    year: int | UnsetType = UNSET
    name: _Line | UnsetType = UNSET


class CheckoutPaymentInput(msgspec.Struct):
    """The payment method of the order; the amount follows from its total."""

    payment_method_id: UUID
    source_id: UUID | UnsetType = UNSET
    source_attributes: PaymentSourceInput | UnsetType = UNSET


class ShippingRateChoice(msgspec.Struct):
    """The selected shipping rate of a shipment."""

    id: UUID
    selected_shipping_rate_id: UUID


class CheckoutFields(msgspec.Struct):
    """Changes only the given fields; null is ignored."""

    email: _Email | UnsetType = UNSET
    special_instructions: Annotated[str, Meta(max_length=2000)] | UnsetType = UNSET
    bill_address_attributes: CheckoutAddressInput | UnsetType = UNSET
    ship_address_attributes: CheckoutAddressInput | UnsetType = UNSET
    bill_address_id: UUID | UnsetType = UNSET
    ship_address_id: UUID | UnsetType = UNSET
    use_billing: bool | UnsetType = UNSET
    use_shipping: bool | UnsetType = UNSET
    shipments_attributes: list[ShippingRateChoice] | UnsetType = UNSET
    payments_attributes: list[CheckoutPaymentInput] | UnsetType = UNSET
    existing_card: UUID | UnsetType = UNSET


class CheckoutInput(msgspec.Struct):
    """The checkout details of the order."""

    order: CheckoutFields | UnsetType = UNSET


class CheckoutConsent(msgspec.Struct):
    """The token from a 409 `total_changed`, to accept the new total."""

    consent_token: str | UnsetType = UNSET


class ShippingMethodChoice(msgspec.Struct):
    """The shipping method of one shipment, or of all."""

    shipping_method_id: UUID
    shipment_id: UUID | UnsetType = UNSET


class CheckoutRequirements(msgspec.Struct):
    """The details that are missing before a cart can be completed."""

    state: str
    is_complete: bool
    missing: list[CheckoutRequirement]
    held_until: datetime | None = None
    """Stock is held until then, if the shop holds stock."""


class GuestCartInput(msgspec.Struct):
    """The guest's cart, and how to combine it with the user's cart."""

    guest_order_token: Annotated[
        str,
        Meta(
            description="The order token of the guest's cart. The response has a new one in `token`. "
            "The same user can repeat the request with the old token for ten minutes.",
            examples=["shpot_TheGuestsOrderToken"],
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


class AccountFields(msgspec.Struct):
    """Changes only the given fields; null clears a field."""

    first_name: Annotated[_Line | None, Meta(examples=["Grace"])] | UnsetType = UNSET
    last_name: Annotated[_Line | None, Meta(examples=["Hopper"])] | UnsetType = UNSET
    selected_locale: Annotated[_Line | None, Meta(examples=["en-GB"])] | UnsetType = UNSET
    email: Annotated[str, Meta(description="The user's e-mail; it cannot be changed here.")] | UnsetType = UNSET
    public_metadata: _Metadata | UnsetType = UNSET
    bill_address_id: (
        Annotated[UUID | None, Meta(description="The default billing address: one of the user's own.")] | UnsetType
    ) = UNSET
    ship_address_id: (
        Annotated[UUID | None, Meta(description="The default shipping address: one of the user's own.")] | UnsetType
    ) = UNSET


class AccountInput(msgspec.Struct):
    """The e-mail address cannot be changed here."""

    user: AccountFields


class AccountAddressUpdateFields(msgspec.Struct, kw_only=True):
    """Required fields besides the names depend on the country. Omitted fields stay unchanged."""

    firstname: Annotated[_Line, Meta(examples=["Grace"])] | UnsetType = UNSET
    lastname: Annotated[_Line, Meta(examples=["Hopper"])] | UnsetType = UNSET
    company: Annotated[_Line | None, Meta(examples=["Compilers Ltd"])] | UnsetType = UNSET
    address1: Annotated[_Line | None, Meta(examples=["12 Regent Street"])] | UnsetType = UNSET
    address2: _Line | UnsetType | None = UNSET
    city: Annotated[_Line | None, Meta(examples=["London"])] | UnsetType = UNSET
    zipcode: Annotated[_Line | None, Meta(examples=["SW1Y 4PE"])] | UnsetType = UNSET
    phone: Annotated[_Line | None, Meta(examples=["+44 20 7946 0000"])] | UnsetType = UNSET
    label: (
        Annotated[_Line | None, Meta(description="The user's label for the address.", examples=["Home"])] | UnsetType
    ) = UNSET
    country_iso: (
        Annotated[str | None, Meta(description="The country's code of two or three letters.", examples=["GB"])]
        | UnsetType
    ) = UNSET
    country_id: Annotated[UUID | None, Meta(description="In place of `country_iso`.")] | UnsetType = UNSET
    state_name: (
        Annotated[_Line | None, Meta(description="By name or abbreviation, where addresses have a state.")] | UnsetType
    ) = UNSET
    state_code: Annotated[_Line | None, Meta(description="In place of `state_name`.")] | UnsetType = UNSET
    state_id: Annotated[UUID | None, Meta(description="In place of `state_name`.")] | UnsetType = UNSET


class AccountAddressFields(AccountAddressUpdateFields, kw_only=True):
    """Required fields besides the names depend on the country."""

    firstname: Annotated[_Line, Meta(examples=["Grace"])]
    lastname: Annotated[_Line, Meta(examples=["Hopper"])]


class AccountAddressInput(msgspec.Struct):
    """An address of the user; the first one becomes both defaults."""

    address: AccountAddressFields


class AccountAddressUpdateInput(msgspec.Struct):
    """Changes only the given fields. Completed orders keep the address as it was."""

    address: AccountAddressUpdateFields
