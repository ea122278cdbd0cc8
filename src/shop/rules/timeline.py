"""Decides which events the timelines of orders and customers show, and says each in a sentence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

Money = Callable[[int, str], str]
"""Formats an amount in minor units of a currency."""
_REPETITIONS = frozenset({"order.paid", "order.shipped", "order.refunded"})
"""Events that follow from one of a payment, shipment or refund, which has its own entry."""
_PARTS = {"shipment.created": "order.completed", "shipment.tracking_changed": "shipment.shipped"}
"""Events whose entry says nothing beside that of another event of the same transaction."""
_CONSEQUENCES = frozenset({"payment_state", "payment_total", "shipment_state", "confirmation_delivered", "credit_left"})
_FACTS: Mapping[str, Sequence[str]] = {
    "order": ("number", "total", "currency"),
    "payment": ("number", "amount", "currency", "source_type"),
    "shipment": ("number", "tracking"),
    "refund": ("amount", "currency"),
    "invoice": ("number", "total", "currency"),
    "store_credit": ("amount", "amount_used", "currency"),
    "user": (),
}
"""The attributes that the sentences use, by the type of the subject; none of them is personal data."""
_NAMES = {
    "email": "e-mail address",
    "special_instructions": "instructions",
    "internal_note": "note",
    "bill_address_id": "billing address",
    "ship_address_id": "shipping address",
    "user_id": "customer",
    "first_name": "name",
    "last_name": "name",
    "phone": "phone number",
    "note": "note",
    "tags": "tags",
    "selected_locale": "language",
    "public_metadata": "metadata",
    "private_metadata": "metadata",
    "item_total": "items",
    "ship_total": "shipping costs",
    "manual_total": "adjustments",
    "stock_location_id": "stock location",
    "cost": "cost",
}
"""The names of attributes in sentences; changes of others follow from these."""


class Sentence(msgspec.Struct, frozen=True):
    """What happened. `text` continues the name of the actor, or is a whole sentence if it has none."""

    text: str
    has_actor: bool = False


def collect_facts(
    subject_type: str, type_: str, row: Mapping[str, Any], before: Mapping[str, Any], transaction_types: Sequence[str]
) -> dict[str, Any] | None:
    """Returns the facts of an entry, or None if the timelines do not show this event. `transaction_types` are the types
    of all events of its transaction.
    """
    if subject_type not in _FACTS or type_ in _REPETITIONS:
        return None
    if type_ == "order.updated" and before.keys() <= _CONSEQUENCES:
        return None
    if _PARTS.get(type_) in transaction_types:
        return None
    facts = {name: row[name] for name in _FACTS[subject_type] if row.get(name) is not None}
    if type_.endswith(".updated"):
        facts["changed"] = sorted(before)
    if subject_type == "store_credit":
        facts["amount_used_before"] = before.get("amount_used", facts.get("amount_used", 0))
    return facts


def find_owner(subject_type: str, subject_id: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the order or the customer whose timeline has an entry about this record."""
    if subject_type in {"payment", "shipment", "refund", "invoice"}:
        return {"order_id": row["order_id"], "user_id": None}
    if subject_type == "order":
        return {"order_id": subject_id, "user_id": None}
    return {"order_id": None, "user_id": row["user_id"] if subject_type == "store_credit" else subject_id}


def describe(type_: str, facts: Mapping[str, Any], actor_kind: str, money: Money) -> Sentence:
    """Returns the sentence of an entry. Sentences about what operators and applications do have an actor, as have those
    about what customers do themselves.
    """
    active, passive = _SENTENCES.get(type_, (None, None))
    text = {**_TEXT, **{name: str(value) for name, value in facts.items()}, **_derive(facts, actor_kind, money)}
    if active and actor_kind in (_STAFF if type_ in _BY_STAFF else _ANYONE):
        return Sentence(active.format_map(text), has_actor=True)
    return Sentence((passive or type_.replace(".", " ").replace("_", " ").capitalize()).format_map(text))


_STAFF = frozenset({"operator", "application", "command line"})
_ANYONE = _STAFF | {"user", "guest"}
_BY_STAFF = frozenset({"payment.authorized", "payment.captured", "payment.voided", "refund.created", "shipment.ready"})
"""Customers cause these too, but do not do them."""
_SOURCES = {
    "credit_card": ("a card payment", "Card"),
    "store_credit": ("store credit", "Store credit"),
    None: ("a payment", "Payment"),
}
_TEXT = {"number": "", "tracking": "", "total": "an unknown amount", "amount": "an unknown amount"}
_SENTENCES: Mapping[str, tuple[str | None, str]] = {
    "order.created": (None, "Cart created"),
    "order.completed": ("placed order {number} for {total}", "Order {number} for {total} was placed"),
    "order.approved": ("approved the order", "The order was approved"),
    "order.canceled": ("canceled the order", "The order was canceled"),
    "order.resumed": ("resumed the order", "The order was resumed"),
    "order.updated": ("changed {changed}", "{Changed} changed"),
    "order.delivered": (None, "The order was delivered"),
    "order.note_added": ("added a note", "A note was added"),
    "order.note_changed": ("changed a note", "A note was changed"),
    "order.note_deleted": ("deleted a note", "A note was deleted"),
    "order.message_sent": ("wrote to the customer", "A message was sent to the customer"),
    "order.quote_sent": ("mailed a quote to the customer", "A quote was mailed to the customer"),
    "cart.abandoned": (None, "The cart was abandoned"),
    "payment.authorized": ("authorized {paid}", "{Paid} was authorized"),
    "payment.captured": ("captured {paid}", "{Paid} was captured"),
    "payment.failed": (None, "{Paid} was declined"),
    "payment.voided": ("voided {paid}", "{Paid} was voided"),
    "payment.deleted": ("removed {paid}", "{Paid} was removed"),
    "refund.created": ("refunded {amount}", "{amount} was refunded"),
    "invoice.created": ("issued invoice {number}", "Invoice {number} was issued"),
    "credit_note.created": (
        "issued credit note {number} for {total}",
        "Credit note {number} for {total} was issued",
    ),
    "shipment.created": ("split off shipment {number}", "Shipment {number} was created"),
    "shipment.ready": ("marked {number} as ready to ship", "Shipment {number} is ready to ship"),
    "shipment.shipped": ("shipped {number}{with_tracking}", "Shipment {number} was shipped{with_tracking}"),
    "shipment.canceled": ("canceled shipment {number}", "Shipment {number} was canceled"),
    "shipment.tracking_changed": (
        "set the tracking number of {number} to {tracking_text}",
        "The tracking number of {number} is now {tracking_text}",
    ),
    "shipment.updated": ("changed shipment {number}", "Shipment {number} changed"),
    "shipment.deleted": ("merged shipment {number} into another", "Shipment {number} was merged into another"),
    "customer.created": ("created the account", "The account was created"),
    "customer.verified": (None, "The e-mail address was confirmed"),
    "customer.updated": ("changed {changed}", "{Changed} changed"),
    "customer.signed_in": (None, "Signed in"),
    "customer.disabled": ("disabled the account", "The account was disabled"),
    "customer.erased": ("erased the personal data", "The personal data was erased"),
    "customer.merged": ("merged the account into another one", "The account was merged into another one"),
    "customer.enabled": ("enabled the account", "The account was enabled"),
    "store_credit.created": ("granted {amount} of store credit", "{amount} of store credit was granted"),
    "store_credit.updated": ("{credit}", "{Credit}"),
    "store_credit.deleted": ("removed a store credit of {amount}", "A store credit of {amount} was removed"),
}
"""For each type: what follows the actor's name, and the sentence without an actor."""


def _derive(facts: Mapping[str, Any], actor_kind: str, money: Money) -> dict[str, str]:
    currency = facts.get("currency")
    text = {name: money(facts[name], currency) for name in ("total", "amount") if currency and name in facts}
    amount = text.get("amount", _TEXT["amount"])
    source, source_start = _SOURCES.get(facts.get("source_type"), _SOURCES[None])
    attributes = _name_attributes(facts.get("changed", ()))
    tracking = str(facts.get("tracking") or "")
    credit = _describe_credit(facts, actor_kind, money) if "amount_used_before" in facts else ""
    return {
        **text,
        "paid": f"{source} of {amount}",
        "Paid": f"{source_start} of {amount}",
        "changed": f"the {attributes}",
        "Changed": f"The {attributes}",
        "with_tracking": f" with tracking {tracking}" if tracking else "",
        "tracking_text": tracking or "none",
        "credit": credit,
        "Credit": f"{credit[:1].upper()}{credit[1:]}",
    }


def _describe_credit(facts: Mapping[str, Any], actor_kind: str, money: Money) -> str:
    difference = facts.get("amount_used", 0) - facts["amount_used_before"]
    if not difference:
        return "changed a store credit"
    verbs = ("withdrew", "restored") if actor_kind in _STAFF else ("used", "got back")
    return f"{verbs[0] if difference > 0 else verbs[1]} {money(abs(difference), facts['currency'])} of store credit"


def _name_attributes(names: Sequence[str]) -> str:
    words = list(dict.fromkeys(_NAMES[name] for name in names if name in _NAMES)) or ["details"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
