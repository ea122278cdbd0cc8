"""Changes what an operator may correct in a completed order: e-mail address, tags and tracking numbers."""

from collections.abc import Sequence
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, change_order, load_checkout
from shop.actions.checkout.views import can_pay_online
from shop.actions.context import Context
from shop.actions.event_subjects import ORDER, SHIPMENT
from shop.actions.events import note_change
from shop.actions.mail_events import is_mail_on, queue_mails
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.models.cart.orders import Order
from shop.models.checkout.shipments import shipments
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.operations import outbox
from shop.rules.form_values import fingerprint
from shop.rules.mail_events import PAYMENT_ATTENTION, MailRequest

MAX_TAGS = 20
MAX_TAG_LENGTH = 40
NO_BALANCE = "Nothing is due for this order."
NO_ADDRESS = "The order has no e-mail address."
SENT_BEFORE = "The customer got such an e-mail less than an hour ago."
MAIL_OFF = "This e-mail is turned off at Settings → E-mails."
NO_CARDS = "The website has no payment method for cards now: see Settings → Payment methods."


async def change_details(
    ctx: Context, order_id: UUID, *, email: str | None, tags: Sequence[str], expected_fingerprint: str | None = None
) -> None:
    """Saves the e-mail address and the tags of an order; raises ChangedMeanwhile if they are not those of the form."""
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        if expected_fingerprint is not None and fingerprint_details(order) != expected_fingerprint:
            raise ChangedMeanwhile()
        values: dict[str, object] = {"email": email, "tags": _check_tags(tags)}
        changes = {name: value for name, value in values.items() if value != getattr(order, name)}
        if changes:
            await _save(ctx, order, changes, "order_update")


def fingerprint_details(order: Order) -> str:
    """Returns a fingerprint for the form; a save is rejected if the details have changed since."""
    return fingerprint({"email": order.email, "tags": order.tags})


async def change_tags(ctx: Context, order_id: UUID, *, add: str | None = None, remove: str | None = None) -> bool:
    """Adds and removes a tag; returns whether the tags changed."""
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        tags = _check_tags({*order.tags, *([add] if add else ())} - {remove})
        if tags == order.tags:
            return False
        await _save(ctx, order, {"tags": tags}, "order_tags")
    return True


async def change_tracking(ctx: Context, order_id: UUID, shipment_id: UUID, tracking: str | None) -> None:
    """Saves the tracking number of a shipment, before or after it was shipped."""
    async with ctx.db.transaction():
        checkout = await load_checkout(ctx, await _lock(ctx, order_id))
        shipment = next((each for each in checkout.shipments if each.id == shipment_id), None)
        if shipment is None:
            raise NotFound()
        if shipment.tracking == tracking:
            return
        note_change(ctx, SHIPMENT, shipment_id, shipment)
        await writes.update_record(ctx.db, shipments, shipment_id, {"tracking": tracking})
        detail = {"shipment": shipment.number}
        await audit(ctx, "shipment_tracking", "done", subject_id=order_id, detail=detail, record_id=shipment_id)


async def send_payment_link(ctx: Context, order_id: UUID) -> None:
    """Queues an e-mail with the link at which the customer pays what is due."""
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        if sentence := await find_link_refusal(ctx, await load_checkout(ctx, order)):
            raise Invalid({"base": [sentence]}, sentence)
        mail = MailRequest(kind=PAYMENT_ATTENTION, ref_id=order.id, order_id=order.id, is_free=True)
        if not await queue_mails(ctx, [mail]):
            raise Invalid({"base": [NO_BALANCE]}, NO_BALANCE)
        await audit(ctx, "payment_link", "done", subject_id=order.id)


async def find_link_refusal(ctx: Context, checkout: Checkout) -> str | None:
    """Returns why the customer cannot get a payment link, or None if that is possible."""
    order = checkout.order
    if order.completed_at is None or order.canceled_at is not None or checkout.balance.amount_due <= 0:
        return NO_BALANCE
    if not order.email:
        return NO_ADDRESS
    if not is_mail_on(ctx, PAYMENT_ATTENTION):
        return MAIL_OFF
    if not await can_pay_online(ctx):
        return NO_CARDS
    return SENT_BEFORE if await outbox.is_repeated(ctx.db, PAYMENT_ATTENTION, order.id) else None


async def _lock(ctx: Context, order_id: UUID) -> Order:
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    return order


async def _save(ctx: Context, order: Order, changes: dict[str, object], action: str) -> None:
    note_change(ctx, ORDER, order.id, order)
    await change_order(ctx, order, **changes)
    await audit(ctx, action, "done", subject_id=order.id, record_id=order.id)


def _check_tags(tags: Sequence[str] | set[str | None]) -> list[str]:
    distinct = sorted({tag.casefold() for tag in tags if tag})
    if len(distinct) > MAX_TAGS:
        raise Invalid({"tags": [f"must be at most {MAX_TAGS}"]}, f"An order has at most {MAX_TAGS} tags.")
    if any(len(tag) > MAX_TAG_LENGTH for tag in distinct):
        raise Invalid({"tags": [f"must be at most {MAX_TAG_LENGTH} characters long each"]})
    return distinct
