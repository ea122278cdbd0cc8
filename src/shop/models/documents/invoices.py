"""Invoices and credit notes, with everything they print, and the counters of their numbers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, index, key, table, unique
from shop.models.setup.documents import TaxNumber

InvoiceKind = Literal["invoice", "credit_note"]


class Seller(msgspec.Struct, frozen=True):
    """The shop as a document shows it."""

    name: str
    address: Sequence[str] = ()
    email: str = ""
    tax_numbers: Sequence[TaxNumber] = ()


class InvoiceLine(msgspec.Struct, frozen=True):
    """A line item or the shipping costs of a shipment. Amounts are in minor units; `amount` has the discount."""

    name: str
    detail: str = ""
    sku: str = ""
    quantity: int = 1
    price: int = 0
    discount: int = 0
    tax: str = ""
    amount: int = 0


class InvoiceAdjustment(msgspec.Struct, frozen=True):
    """A discount or surcharge on the whole order, which does not change its taxes."""

    label: str
    amount: int


class TaxRow(msgspec.Struct, frozen=True):
    """The amounts with the same tax rates."""

    label: str
    net: int
    tax: int

    @property
    def gross(self) -> int:
        return self.net + self.tax


class InvoiceContent(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an invoice or a credit note prints, besides its number and its date."""

    seller: Seller
    bill_to: Sequence[str] = ()
    ship_to: Sequence[str] = ()
    """The shipping address, if it is another one."""
    email: str = ""
    order_number: str
    order_date: datetime
    time_zone: str = "UTC"
    """The zone of the days on the document, which a later change of the shop's zone does not change."""
    currency: str
    locale: str
    lines: Sequence[InvoiceLine] = ()
    adjustments: Sequence[InvoiceAdjustment] = ()
    additional_tax_total: int = 0
    tax_rows: Sequence[TaxRow] = ()
    total: int
    invoice_number: str = ""
    """The invoice that a credit note corrects."""
    reason: str = ""
    """Why a credit note was issued."""

    @property
    def net_total(self) -> int:
        return sum(row.net for row in self.tax_rows)

    @property
    def tax_total(self) -> int:
        return sum(row.tax for row in self.tax_rows)


class Invoice(Row, frozen=True, kw_only=True):
    """An invoice or a credit note; it never changes. `number` is `series` and `running_number`."""

    id: UUID
    order_id: UUID
    kind: str
    series: str
    running_number: int
    number: str
    refund_id: UUID | None = None
    """The refund of a credit note; None for an invoice, and for the credit note of a canceled order."""
    currency: str
    total: int
    content: dict[str, Any]
    actor_kind: str
    actor_id: UUID | None = None
    issued_at: datetime

    @property
    def document(self) -> InvoiceContent:
        return msgspec.convert(self.content, InvoiceContent)


class InvoiceSummary(msgspec.Struct, frozen=True):
    """An invoice or a credit note as events show it: without names and addresses."""

    id: UUID
    order_id: UUID
    kind: str
    number: str
    currency: str
    total: int
    issued_at: datetime
    refund_id: UUID | None = None


class InvoiceCounter(Row, frozen=True, kw_only=True):
    """The last number of a series, locked by the transaction that takes the next one."""

    series: str
    last_number: int


invoices = table(
    "invoices",
    Invoice,
    key("id"),
    unique("number"),
    unique("series", "running_number"),
    # One invoice for each order, one credit note for each refund, and one for a canceled order.
    index("uq_invoices_order_id", "order_id", where="kind = 'invoice'", is_unique=True),
    index("uq_invoices_refund_id", "refund_id", where="refund_id is not null", is_unique=True),
    index(
        "uq_invoices_cancellation",
        "order_id",
        where="kind = 'credit_note' and refund_id is null",
        is_unique=True,
    ),
    index("ix_invoices_order_id", "order_id", "issued_at"),
    check("kind_is_known", "kind in ('invoice', 'credit_note')"),
    check("total_not_negative", "total >= 0"),
)
invoice_counters = table("invoice_counters", InvoiceCounter, key("series"))
