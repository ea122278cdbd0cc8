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
    dict[str, Any], Meta(description="An object of the client's own, replaced as a whole; at most 16 KiB as JSON.")
]


def read_wrapped_object(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = params.get(name)
    if not isinstance(value, dict):
        raise Malformed(f'The body must have an object "{name}".')
    return value


class LoginCodeUser(msgspec.Struct):
    """Neither `code` nor `refresh_token`: a mail with a code is sent."""

    email: _Email
    first_name: Annotated[_Line | None, Meta(description="For a new user.", examples=["Grace"])] | UnsetType = UNSET
    last_name: Annotated[_Line | None, Meta(description="For a new user.", examples=["Hopper"])] | UnsetType = UNSET


class LoginUser(msgspec.Struct):
    """The code of the mail, for a pair of tokens."""

    email: _Email
    code: Annotated[
        str,
        Meta(
            description="The six digits of the mail; or its 26 characters, in any case and grouping.",
            examples=["123456"],
        ),
    ]


class TokenRefreshUser(msgspec.Struct):
    """A refresh token, for a new pair."""

    email: _Email
    refresh_token: Annotated[
        str,
        Meta(
            description="The newest of the session; it is used up, and the answer has the next.",
            examples=["shprt_TheRefreshToken"],
        ),
    ]


class LoginCodeInput(msgspec.Struct):
    """Ask for a code: it is sent by mail, and the answer is the same whether or not the address is known."""

    user: LoginCodeUser


class LoginInput(msgspec.Struct):
    """Trade the code of the mail for tokens."""

    user: LoginUser


class TokenRefreshInput(msgspec.Struct):
    """Refresh: a new pair of tokens for an old one."""

    user: TokenRefreshUser


SignIn = LoginCodeInput | LoginInput | TokenRefreshInput


class LoginNotice(msgspec.Struct, frozen=True):
    """That a code was sent, if it can be."""

    message: Annotated[str, Meta(examples=["If this address can receive mail, a code is on its way."])]


class CartInput(msgspec.Struct):
    """All of it may be left out, and the body with it."""

    currency: (
        Annotated[
            str,
            Meta(
                description="A currency of the shop; the first one where it is another. Also read from the query.",
                examples=["EUR"],
            ),
        ]
        | UnsetType
    ) = UNSET
    public_metadata: _Metadata | UnsetType = UNSET
    private_metadata: _Metadata | UnsetType = UNSET


_Quantity = Annotated[int, Meta(ge=1, le=1_000_000, examples=[2])]


class CartItemInput(msgspec.Struct):
    """A variant, and how many of it; the same variant twice is one line."""

    variant_id: UUID
    quantity: _Quantity = 1
    public_metadata: _Metadata | UnsetType = UNSET
    private_metadata: _Metadata | UnsetType = UNSET


class CartItemsInput(msgspec.Struct):
    """Several at once; when one of them will not do, none is added, and each that will not do is named by its place."""

    items: Annotated[list[CartItemInput], Meta(min_length=1, max_length=500)]


class CartQuantityInput(msgspec.Struct):
    """How many of a line are wanted from now on."""

    line_item_id: UUID
    quantity: _Quantity


class CartCurrencyInput(msgspec.Struct):
    """A currency of the shop. Lines without a price in it stay and are told of in `meta.warnings`."""

    new_currency: Annotated[str, Meta(examples=["EUR"])]


class CartCouponInput(msgspec.Struct):
    """What stands around the code and how it is written does not matter."""

    coupon_code: Annotated[str, Meta(examples=["MOONRISE"])]


class CheckoutCreditInput(msgspec.Struct):
    """How much of the order is paid with credit; without it as much as there is."""

    amount: Annotated[str | float, Meta(examples=["10.00", 10])] | UnsetType = UNSET


class EmptyBody(msgspec.Struct):
    """An empty object, or no body at all."""


class CheckoutAddressInput(msgspec.Struct):
    """An address as it was typed; with `id`, a change of one that is the shopper's own."""

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
    """What a provider's own form tells of a card; never its number."""

    gateway_payment_profile_id: _Line | UnsetType = UNSET
    cc_type: _Line | UnsetType = UNSET
    last_digits: Annotated[str, Meta(pattern="^[0-9]{4}$")] | UnsetType = UNSET
    month: int | UnsetType = UNSET
    year: int | UnsetType = UNSET
    name: _Line | UnsetType = UNSET


class CheckoutPaymentInput(msgspec.Struct):
    """How the order is paid; the amount is what it comes to."""

    payment_method_id: UUID
    source_id: UUID | UnsetType = UNSET
    source_attributes: PaymentSourceInput | UnsetType = UNSET


class ShippingRateChoice(msgspec.Struct):
    """The rate by which a shipment is sent."""

    id: UUID
    selected_shipping_rate_id: UUID


class CheckoutFields(msgspec.Struct):
    """Changes what is given; null says nothing."""

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
    """What is known of the order so far."""

    order: CheckoutFields | UnsetType = UNSET


class CheckoutConsent(msgspec.Struct):
    """The token of a 409 `total_changed`, to buy at what it comes to now."""

    consent_token: str | UnsetType = UNSET


class ShippingMethodChoice(msgspec.Struct):
    """For one shipment, or for all of them."""

    shipping_method_id: UUID
    shipment_id: UUID | UnsetType = UNSET


class CheckoutRequirements(msgspec.Struct):
    """What stands between a cart and its completion."""

    state: str
    is_complete: bool
    missing: list[CheckoutRequirement]
    held_until: datetime | None = None
    """Stock is held until then, if the shop holds stock."""


class GuestCartInput(msgspec.Struct):
    """The guest's cart, and what becomes of the two."""

    guest_order_token: Annotated[
        str,
        Meta(
            description="The order token of the guest's cart. It is replaced: the answer has the new one in `token`. "
            "Sent again within ten minutes by the same user, the old one gets the same answer.",
            examples=["shpot_TheGuestsOrderToken"],
        ),
    ]
    strategy: Annotated[
        Strategy,
        Meta(
            description="`merge`: the guest's cart survives, and the lines of the user's move in. "
            "`keep_guest`, `keep_user`: that cart survives as it is."
        ),
    ] = "merge"
    dry_run: Annotated[bool, Meta(description="Only say what would happen.")] = False


class AccountFields(msgspec.Struct):
    """Changes what is given and nothing else; null empties a field."""

    first_name: Annotated[_Line | None, Meta(examples=["Grace"])] | UnsetType = UNSET
    last_name: Annotated[_Line | None, Meta(examples=["Hopper"])] | UnsetType = UNSET
    selected_locale: Annotated[_Line | None, Meta(examples=["en-GB"])] | UnsetType = UNSET
    email: Annotated[str, Meta(description="The user's own: it cannot be changed here.")] | UnsetType = UNSET
    public_metadata: _Metadata | UnsetType = UNSET
    bill_address_id: (
        Annotated[UUID | None, Meta(description="The default billing address: one of the user's own.")] | UnsetType
    ) = UNSET
    ship_address_id: (
        Annotated[UUID | None, Meta(description="The default shipping address: one of the user's own.")] | UnsetType
    ) = UNSET


class AccountInput(msgspec.Struct):
    """The address of e-mail is who the user is, and cannot be changed here."""

    user: AccountFields


class AccountAddressUpdateFields(msgspec.Struct, kw_only=True):
    """Which fields must be given beside the names depends on the country. What is left out of a change stays."""

    firstname: Annotated[_Line, Meta(examples=["Grace"])] | UnsetType = UNSET
    lastname: Annotated[_Line, Meta(examples=["Hopper"])] | UnsetType = UNSET
    company: Annotated[_Line | None, Meta(examples=["Compilers Ltd"])] | UnsetType = UNSET
    address1: Annotated[_Line | None, Meta(examples=["12 Regent Street"])] | UnsetType = UNSET
    address2: _Line | UnsetType | None = UNSET
    city: Annotated[_Line | None, Meta(examples=["London"])] | UnsetType = UNSET
    zipcode: Annotated[_Line | None, Meta(examples=["SW1Y 4PE"])] | UnsetType = UNSET
    phone: Annotated[_Line | None, Meta(examples=["+44 20 7946 0000"])] | UnsetType = UNSET
    label: Annotated[_Line | None, Meta(description="What the user calls it.", examples=["Home"])] | UnsetType = UNSET
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
    """Which fields must be given beside the names depends on the country."""

    firstname: Annotated[_Line, Meta(examples=["Grace"])]
    lastname: Annotated[_Line, Meta(examples=["Hopper"])]


class AccountAddressInput(msgspec.Struct):
    """An address of the user; the first one becomes both defaults."""

    address: AccountAddressFields


class AccountAddressUpdateInput(msgspec.Struct):
    """Changes what is given. An address that a completed order uses stays there as it was."""

    address: AccountAddressUpdateFields
