"""Input of operations on orders, shipments, payments and store credits."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.input_types import MAX_UNITS, Amount, Line
from shop.base.values import MAX_LINE_LENGTH, REQUIRED, read_line


class Completion(msgspec.Struct, frozen=True):
    """Consent to a total that changed since it was quoted."""

    consent_token: Annotated[str | None, Meta(description="The token from the error `total_changed`.")] | UnsetType = (
        UNSET
    )


class ShipmentTracking(msgspec.Struct, frozen=True):
    """The tracking number, if there is one."""

    tracking: Line | UnsetType | None = UNSET


class ShipmentItemInput(msgspec.Struct, frozen=True):
    """A variant and its quantity."""

    variant_id: Annotated[UUID, Meta(extra={"code": "variant_not_found"})]
    quantity: Annotated[int, Meta(ge=1, le=MAX_UNITS)] | UnsetType | None = UNSET


class LocationTransferInput(ShipmentItemInput, frozen=True, kw_only=True):
    """The items to transfer, and the stock location to ship them from."""

    stock_location_id: Annotated[UUID, Meta(extra={"code": "stock_location_not_found"})]


class ShipmentTransferInput(ShipmentItemInput, frozen=True, kw_only=True):
    """The items to transfer, and the target shipment of the same order."""

    target_shipment_number: Annotated[str, Meta(extra={"code": "shipment_not_found"})]


class RefundInput(msgspec.Struct, frozen=True):
    """The amount to refund of a payment, and the reason."""

    payment_id: UUID
    amount: Annotated[Amount, Meta(description="At most the captured amount that is not refunded yet.")]
    reason: Annotated[str, Meta(min_length=1, max_length=MAX_LINE_LENGTH)]


class OrderCouponInput(msgspec.Struct, frozen=True):
    """A coupon code to apply to an open order."""

    coupon_code: Annotated[str, Meta(extra={"code": "coupon_unknown"})]


class OrderCreditInput(msgspec.Struct, frozen=True):
    """The amount to pay with the customer's store credit; by default as much as possible."""

    amount: Amount | UnsetType | None = UNSET


def _read_reason(value: object) -> str:
    reason = read_line(value).strip()
    if not reason:
        raise ValueError(REQUIRED)
    return reason


class WithdrawalInput(msgspec.Struct, frozen=True):
    """The reason, which the ledger records."""

    reason: Annotated[str, Meta(min_length=1, max_length=MAX_LINE_LENGTH, extra={"read": _read_reason})]
