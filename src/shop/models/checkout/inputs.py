"""Input of checkout actions."""

from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.input_types import Amount, EmailAddress, Line, LookupId
from shop.base.values import NO_RECORD, NOT_DECIMAL, read_decimal
from shop.models.customers.inputs import CheckoutAddressInput

MAX_INSTRUCTIONS_LENGTH = 2000
MAX_PAYMENTS = 10
"""Payments that one request may choose. The last one counts."""


def _read_last_digits(value: object) -> str:
    """Reads four digits: full card numbers are not accepted."""
    if not (isinstance(value, str) and len(value) == 4 and value.isascii() and value.isdigit()):
        raise ValueError("must be the last four digits only")
    return value


def _read_credit(value: object) -> Decimal:
    """Reads an amount; a text with spaces around the number is refused."""
    if isinstance(value, str) and value != value.strip():
        raise ValueError(NOT_DECIMAL)
    return read_decimal(value)


CouponCode = Annotated[str, Meta(examples=["MOONRISE"], extra={"code": "coupon_unknown"})]
_RateId = Annotated[LookupId, Meta(extra={"absent": NO_RECORD, "code": "shipment_not_found"})]


class CartCouponInput(msgspec.Struct, frozen=True):
    """Case and surrounding spaces of the code do not matter."""

    # As with any text that is not a code, the coupon is not found.
    coupon_code: Annotated[CouponCode, Meta(extra={"absent": ""})]


class CheckoutCreditInput(msgspec.Struct, frozen=True):
    """The amount to pay with store credit; by default as much as possible."""

    amount: Annotated[Amount | None, Meta(examples=["10.00", 10], extra={"read": _read_credit})] | UnsetType = UNSET


class PaymentSourceInput(msgspec.Struct, frozen=True):
    """Card details from the payment provider's form; never the card number."""

    gateway_payment_profile_id: Line | None = None
    cc_type: Line | None = None
    last_digits: Annotated[str, Meta(pattern="^[0-9]{4}$", extra={"read": _read_last_digits})] | None = None
    month: Annotated[int, Meta(ge=1, le=12)] | None = None
    year: Annotated[int, Meta(ge=2000, le=2200)] | None = None
    name: Line | None = None


class CheckoutPaymentInput(msgspec.Struct, frozen=True):
    """The payment method of the order; the amount follows from its total."""

    payment_method_id: Annotated[
        LookupId | None,
        Meta(description="Optional with `source_id`: a saved card determines its method.", extra={"absent": None}),
    ]
    source_id: LookupId | UnsetType | None = UNSET
    source_attributes: PaymentSourceInput | UnsetType | None = UNSET


class ShippingRateChoice(msgspec.Struct, frozen=True):
    """The selected shipping rate of a shipment."""

    id: _RateId
    selected_shipping_rate_id: _RateId


class CheckoutFields(msgspec.Struct, frozen=True):
    """Changes only the given fields; null is ignored."""

    email: EmailAddress | None = None
    special_instructions: Annotated[str, Meta(max_length=MAX_INSTRUCTIONS_LENGTH)] | None = None
    bill_address_attributes: CheckoutAddressInput | None = None
    ship_address_attributes: CheckoutAddressInput | None = None
    bill_address_id: LookupId | None = None
    ship_address_id: LookupId | None = None
    use_billing: bool | None = None
    use_shipping: bool | None = None
    shipments_attributes: Annotated[list[ShippingRateChoice], Meta(extra={"code": "shipment_not_found"})] | None = None
    payments_attributes: Annotated[list[CheckoutPaymentInput], Meta(max_length=MAX_PAYMENTS)] | None = None
    existing_card: LookupId | None = None
    coupon_code: CouponCode | None = None


class CheckoutInput(msgspec.Struct, frozen=True):
    """The checkout details of the order."""

    order: CheckoutFields | UnsetType = UNSET
    payment_source: (
        Annotated[
            dict[str, PaymentSourceInput] | None,
            Meta(description="By payment method id; replaces `source_attributes` of the payments."),
        ]
        | UnsetType
    ) = UNSET


class CheckoutAdvanceInput(msgspec.Struct, frozen=True):
    """All fields, and the body itself, are optional."""

    state: (
        Annotated[str | None, Meta(description="If this state cannot be reached, the error has the reason.")]
        | UnsetType
    ) = UNSET


class CheckoutValidationInput(msgspec.Struct, frozen=True):
    """All fields, and the body itself, are optional."""

    skip_state: Annotated[bool | None, Meta(description="Skip the requirements of the checkout steps.")] | UnsetType = (
        UNSET
    )


class CheckoutConsent(msgspec.Struct, frozen=True):
    """The token from a 409 `total_changed`, to accept the new total."""

    consent_token: str | UnsetType | None = UNSET


class ShippingMethodChoice(msgspec.Struct, frozen=True):
    """The shipping method of one shipment, or of all."""

    # A missing id has the same error as an unknown method.
    shipping_method_id: Annotated[LookupId, Meta(extra={"absent": NO_RECORD, "code": "shipping_method_not_found"})]
    shipment_id: LookupId | UnsetType | None = UNSET
