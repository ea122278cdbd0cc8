"""Input of platform actions on orders, shipments, adjustments and store credits: the fields that a request may set,
each of them optional.
"""

from decimal import Decimal
from typing import Any, TypedDict
from uuid import UUID

import msgspec

from shop.base.input_types import EmailAddress, LookupId, Quantity
from shop.models.checkout.inputs import CheckoutPaymentInput, ShippingRateChoice
from shop.models.customers.inputs import CheckoutAddressInput


class OrderLineInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line item to change or remove by its id; without an id, a variant to add."""

    id: LookupId | None = None
    variant_id: LookupId | None = None
    quantity: Quantity = 1
    _destroy: bool | None = None

    @property
    def is_removal(self) -> bool:
        return bool(self._destroy)


class OrderInput(TypedDict, total=False):
    """An order, and the parts to change while it is open."""

    email: EmailAddress | None
    special_instructions: str | None
    internal_note: str | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    user_id: UUID | None
    bill_address_id: UUID | None
    ship_address_id: UUID | None
    channel: str
    number: str
    currency: str
    bill_address_attributes: CheckoutAddressInput
    ship_address_attributes: CheckoutAddressInput
    line_items_attributes: list[OrderLineInput]
    shipments_attributes: list[ShippingRateChoice]
    payments_attributes: list[CheckoutPaymentInput]


class ShipmentInput(TypedDict, total=False):
    """A shipment; its order is named by id or number."""

    stock_location_id: UUID
    tracking: str | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    order_id: str
    variant_id: UUID
    quantity: int
    selected_shipping_rate_id: UUID


class AdjustmentInput(TypedDict, total=False):
    """A manual adjustment of an open order."""

    order_id: UUID
    adjustable_type: str
    adjustable_id: UUID
    label: str
    amount: Decimal


class StoreCreditInput(TypedDict, total=False):
    """A store credit of a customer."""

    user_id: UUID
    currency: str
    memo: str
    store_credit_category_id: UUID | None
    store_credit_type_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    amount: Decimal
