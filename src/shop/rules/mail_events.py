"""Decides which e-mails a change of a record causes, from its events and the row before and after it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

CONFIRMATION, ORDER_SHIPPED, ORDER_REFUNDED, ORDER_CANCELED = (
    "order_confirmation",
    "order_shipped",
    "order_refunded",
    "order_canceled",
)
PAYMENT_ATTENTION = "payment_attention"
ORDER_MESSAGE = "order_message"
DRAFT_QUOTE = "draft_quote"
BACK_IN_STOCK = "back_in_stock"
NEW_SIGN_IN = "new_sign_in"
EMAIL_CHANGED, EMAIL_CHANGED_NEW = "email_changed", "email_changed_new"
_STAFF = frozenset({"application", "operator", "command line", "shop"})
"""Actors whose e-mails spend no budget."""
_OWING = frozenset({"balance_due", "failed"})
MAIL_TTL = 3 * 24 * 3600


class MailRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An e-mail to queue: to `recipient`, or else to the address of the order."""

    kind: str
    ref_id: UUID
    """The record that it is about."""
    order_id: UUID | None = None
    recipient: str | None = None
    owner_id: UUID | None = None
    """The owner who caused it: it spends no budget if it goes to their own verified address."""
    is_free: bool = False
    """Whether it spends no budget."""


def list_mails(
    event_types: Sequence[str], before: Any, after: Any, *, actor_kind: str, actor_id: UUID | None
) -> list[MailRequest]:
    """Returns the e-mails of one changed record; `after` is None if it was deleted."""
    if after is None:
        return []
    requests = [
        request for type_ in event_types if type_ in _RULES for request in _RULES[type_](before, after)
    ] or _list_order_mails(event_types, before, after)
    return [_with_budget(each, after, actor_kind, actor_id) for each in requests]


def _with_budget(request: MailRequest, after: Any, actor_kind: str, actor_id: UUID | None) -> MailRequest:
    """The shop itself and its staff spend no budget. A confirmation spends none if its signed-in owner completes the
    order; anyone else could enter the address of another person.
    """
    if request.kind != CONFIRMATION or actor_kind in _STAFF:
        is_free = request.is_free or actor_kind in _STAFF
        return msgspec.structs.replace(request, is_free=is_free)
    is_owner = actor_kind == "user" and actor_id is not None and actor_id == after.user_id
    return msgspec.structs.replace(request, owner_id=actor_id if is_owner else None)


def _list_order_mails(event_types: Sequence[str], before: Any, after: Any) -> list[MailRequest]:
    """A completed order that owes an amount again, such as one that was canceled and is resumed."""
    is_order = any(type_.startswith("order.") for type_ in event_types)
    if not is_order or before is None or before.completed_at is None or after.canceled_at is not None:
        return []
    if before.payment_state in _OWING or after.payment_state not in _OWING:
        return []
    return [MailRequest(kind=PAYMENT_ATTENTION, ref_id=after.id, order_id=after.id)]


def _list_email_mails(before: Any, after: Any) -> list[MailRequest]:
    """Tells both addresses of a customer, of which one may be someone else's."""
    if before is None or before.email_key == after.email_key:
        return []
    return [
        MailRequest(kind=EMAIL_CHANGED, ref_id=after.id, recipient=before.email),
        MailRequest(kind=EMAIL_CHANGED_NEW, ref_id=after.id, recipient=after.email),
    ]


def _of_order(kind: str, *, is_free: bool = False) -> Callable[[Any, Any], list[MailRequest]]:
    return lambda _before, after: [
        MailRequest(kind=kind, ref_id=after.id, order_id=after.id, recipient=after.email, is_free=is_free)
    ]


def _of_part(kind: str) -> Callable[[Any, Any], list[MailRequest]]:
    return lambda _before, after: [MailRequest(kind=kind, ref_id=after.id, order_id=after.order_id, is_free=True)]


_RULES: Mapping[str, Callable[[Any, Any], list[MailRequest]]] = {
    "order.completed": _of_order(CONFIRMATION),
    "order.canceled": _of_order(ORDER_CANCELED, is_free=True),
    "shipment.shipped": _of_part(ORDER_SHIPPED),
    "refund.created": _of_part(ORDER_REFUNDED),
    "payment.failed": lambda _before, after: [
        MailRequest(kind=PAYMENT_ATTENTION, ref_id=after.order_id, order_id=after.order_id)
    ],
    "customer.updated": _list_email_mails,
}
