"""Input of setup records: the fields that a request may set, each of them optional."""

from decimal import Decimal
from typing import Any, TypedDict
from uuid import UUID


class ZoneInput(TypedDict, total=False):
    """A zone and its members: countries or states, depending on its kind."""

    name: str
    description: str | None
    kind: str
    default_tax: bool
    country_ids: list[UUID]
    state_ids: list[UUID]


class TaxRateInput(TypedDict, total=False):
    """A tax rate; an amount of 0.19 is 19 percent."""

    name: str
    amount: Decimal
    included_in_price: bool
    show_rate_in_label: bool
    zone_id: UUID
    tax_category_id: UUID
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class ShippingMethodInput(TypedDict, total=False):
    """A shipping method with its zones, its shipping categories, and its amounts by currency."""

    name: str
    admin_name: str | None
    code: str | None
    tracking_url: str | None
    display_on: str
    calculator: str
    tax_category_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    zone_ids: list[UUID]
    shipping_category_ids: list[UUID]
    amounts: dict[str, Any]


class PaymentMethodInput(TypedDict, total=False):
    """A payment method of a provider."""

    name: str
    type: str
    description: str | None
    active: bool
    display_on: str
    auto_capture: bool
    position: int
    preferences: dict[str, Any]
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
