"""The export of a customer's personal data. Amounts are decimals of their currency."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec


class ExportedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The account of the customer."""

    email: str
    first_name: str | None
    last_name: str | None
    phone: str | None
    locale: str | None
    customer_since: datetime
    metadata: dict[str, Any]


class ExportedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A saved address, or an address of an order."""

    label: str | None
    firstname: str
    lastname: str
    company: str | None
    address1: str
    address2: str | None
    city: str | None
    state: str | None
    zipcode: str | None
    country: str
    phone: str | None
    is_billing_default: bool = False
    is_shipping_default: bool = False


class ExportedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line item of an order."""

    name: str
    options: str
    sku: str
    quantity: int
    price: Decimal | None
    total: Decimal


class ExportedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A completed order."""

    number: str
    completed_at: datetime | None
    canceled_at: datetime | None
    payment_state: str | None
    shipment_state: str | None
    email: str | None
    special_instructions: str | None
    currency: str
    item_total: Decimal
    shipping: Decimal
    discounts: Decimal
    tax: Decimal
    total: Decimal
    shipping_address: ExportedAddress | None
    billing_address: ExportedAddress | None
    items: list[ExportedLine]


class ExportedWish(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a wishlist."""

    name: str | None
    """None if the product is no longer in the catalog."""
    sku: str | None
    options: str | None
    quantity: int
    added_at: datetime


class ExportedWishlist(msgspec.Struct, frozen=True, kw_only=True):
    """A wishlist with its items."""

    name: str
    is_private: bool
    is_default: bool
    created_at: datetime
    items: list[ExportedWish]


class ExportedCard(msgspec.Struct, frozen=True, kw_only=True):
    """A saved card without the provider's references."""

    type: str | None
    last_digits: str | None
    month: int | None
    year: int | None
    name: str | None
    last_used_at: datetime | None


class ExportedCredit(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the store credit ledger."""

    at: datetime
    action: str
    currency: str
    amount: Decimal
    balance: Decimal
    reason: str | None
    order: str | None


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in on one device."""

    signed_in_at: datetime
    last_active_at: datetime
    ip_address: str
    user_agent: str | None


class ExportedMail(msgspec.Struct, frozen=True, kw_only=True):
    """An e-mail to the customer."""

    kind: str
    created_at: datetime
    sent_at: datetime | None


class PersonalData(msgspec.Struct, frozen=True, kw_only=True):
    """The personal data of a customer; orders and store credit entries are the newest ones."""

    exported_at: datetime
    profile: ExportedProfile
    addresses: list[ExportedAddress]
    orders: list[ExportedOrder]
    wishlists: list[ExportedWishlist]
    cards: list[ExportedCard]
    store_credit: list[ExportedCredit]
    sessions: list[ExportedSession]


class CompletePersonalData(PersonalData, frozen=True, kw_only=True):
    """The personal data with what only operators see; orders include those that a guest placed with the address."""

    tags: list[str]
    note: str | None
    private_metadata: dict[str, Any]
    e_mails: list[ExportedMail]
