"""The types of events that have a meaning of their own, and patterns that select types."""

import re
from collections.abc import Sequence

import msgspec

MAX_PATTERNS = 50
_PATTERN = re.compile(r"\*|[a-z_]{1,40}\.(?:\*|[a-z_]{1,40})", re.ASCII)


class EventType(msgspec.Struct, frozen=True):
    """A type of event: its name, the type of the record it is about, and what causes it."""

    type: str
    subject_type: str
    description: str


NAMED_TYPES = (
    EventType("order.completed", "order", "A customer or an application completed an order."),
    EventType("order.updated", "order", "A completed order changed."),
    EventType("order.canceled", "order", "An order was canceled."),
    EventType("order.resumed", "order", "A canceled order was resumed."),
    EventType("order.approved", "order", "An order was approved after review."),
    EventType("order.paid", "order", "An order was paid in full."),
    EventType("order.refunded", "order", "A payment of an order was refunded, in part or in full."),
    EventType("order.shipped", "order", "All items of an order were shipped."),
    EventType("order.delivered", "order", "All shipments of an order were delivered."),
    EventType("order.note_added", "order", "An operator added a note to an order."),
    EventType("order.note_changed", "order", "An operator changed their note of an order."),
    EventType("order.note_deleted", "order", "An operator deleted their note of an order."),
    EventType("order.message_sent", "order", "An operator wrote to the customer of an order."),
    EventType("order.quote_sent", "order", "An operator mailed the quote of a draft to its customer."),
    EventType("payment.authorized", "payment", "A payment was authorized, or awaits a check or transfer."),
    EventType("payment.captured", "payment", "The money of a payment was received."),
    EventType("payment.failed", "payment", "A payment was declined."),
    EventType("payment.voided", "payment", "A payment was voided."),
    EventType("payment.deleted", "payment", "A void payment was deleted."),
    EventType("refund.created", "refund", "A refund was made."),
    EventType("invoice.created", "invoice", "The invoice of an order was issued."),
    EventType("credit_note.created", "invoice", "A credit note for an invoice was issued."),
    EventType("shipment.created", "shipment", "A completed order has a new shipment."),
    EventType("shipment.ready", "shipment", "A shipment can be sent: it is paid and in stock."),
    EventType("shipment.shipped", "shipment", "A shipment was sent."),
    EventType("shipment.delivered", "shipment", "A shipment arrived."),
    EventType("shipment.canceled", "shipment", "A shipment was canceled."),
    EventType("shipment.tracking_changed", "shipment", "The tracking number of a shipment changed."),
    EventType("shipment.updated", "shipment", "Something else of a shipment changed."),
    EventType("shipment.deleted", "shipment", "A shipment was merged into another one."),
    EventType("cart.abandoned", "order", "A cart with an e-mail address was left alone for a day; once for each cart."),
    EventType("customer.verified", "user", "A customer proved to own their e-mail address."),
    EventType("customer.signed_in", "user", "A customer signed in."),
    EventType("customer.disabled", "user", "An operator disabled a customer."),
    EventType("customer.enabled", "user", "An operator enabled a customer again."),
    EventType("customer.erased", "user", "The personal data of a customer was erased; erase your copy too."),
    EventType("customer.merged", "user", "A duplicate account was closed; its records move to `merged_into_id`."),
    EventType("application.created", "application", "An application was created."),
    EventType("application.secret_rotated", "application", "An application has a new secret."),
    EventType("application.revoked", "application", "An application was revoked."),
    EventType("operator.created", "operator", "An operator was invited or created."),
    EventType("operator.disabled", "operator", "An operator was disabled."),
    EventType("operator.enabled", "operator", "An operator was enabled again."),
    EventType("operator.updated", "operator", "An operator has another role."),
    EventType("operator.deleted", "operator", "The invitation of an operator was withdrawn."),
    EventType("role.created", "role", "A role of operators was created."),
    EventType("role.updated", "role", "A role of operators changed."),
    EventType("role.deleted", "role", "A role of operators was deleted."),
    EventType("settings.updated", "shop", "The settings of the shop or its website changed."),
    EventType("image.created", "image", "A product or a category has a new image."),
    EventType("image.deleted", "image", "An image of a product or a category was deleted."),
    EventType("price.changed", "price", "A price was created, changed or deleted."),
    EventType("stock.changed", "stock_item", "A count on hand changed; at most one event per stock item and second."),
    EventType("stock.sold_out", "stock_item", "The last item on hand was sold or removed."),
    EventType("stock.back", "stock_item", "A stock item that was sold out is on hand again."),
    EventType("webhook_endpoint.disabled", "webhook_endpoint", "A webhook endpoint was disabled because it failed."),
)


_SUBJECTS = {"cms_page": "CMS page", "wished_item": "wishlist item"}
"""What records are called for operators, where it is not the name of their type."""


def title_type(name: str) -> str:
    """Returns a type of events or of records as people read it, like `Order completed` or `CMS page`."""
    subject, _, what = name.partition(".")
    text = f"{_SUBJECTS.get(subject, subject)} {what}".replace("_", " ").strip()
    return text[:1].upper() + text[1:]


def parse_type_patterns(text: str) -> Sequence[str]:
    """Returns the LIKE patterns of types separated by commas: exact ones, `order.*`, or `*`; none for all types. Raises
    ValueError with the reason.
    """
    patterns = [each.strip() for each in text.split(",") if each.strip()]
    if len(patterns) > MAX_PATTERNS:
        raise ValueError(f"has more than {MAX_PATTERNS} types")
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise ValueError(f"has a type that does not look like order.completed or order.*: {pattern[:80]}")
    return [] if "*" in patterns else [pattern.replace("_", r"\_").replace("*", "%") for pattern in patterns]
