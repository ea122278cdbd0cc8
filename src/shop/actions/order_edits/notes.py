"""Notes of operators about an order, and messages that its customer gets by e-mail."""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.actions.mail_events import queue_mails
from shop.base.errors import Conflict, Forbidden, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.order_edits.notes import MAX_NOTES, MAX_TEXT_LENGTH, OrderNote, order_notes
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.order_edits import notes
from shop.rules.mail_events import ORDER_MESSAGE, MailRequest

NO_ADDRESS = "The order has no e-mail address."
NOT_OWN = "Only its author can change a note."
NOTE_IS_GONE = "The note was deleted meanwhile."


async def add_note(ctx: Context, order_id: UUID, note_id: UUID, text: str) -> None:
    """Saves a note that only operators see; the same note again changes nothing."""
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        await insert_note(ctx, order, text, note_id)


async def insert_note(ctx: Context, order: Order, text: str, note_id: UUID | None = None) -> None:
    """Does the same in the caller's transaction, which has locked the order."""
    if await _insert(ctx, order, note_id or new_id(), "note", text):
        note_event(ctx, "order.note_added", ORDER, order.id)
        await audit(ctx, "order_note_added", "done", subject_id=order.id)


async def send_message(ctx: Context, order_id: UUID, message_id: UUID, text: str) -> None:
    """Saves a message and queues its e-mail to the customer; the same message again sends nothing."""
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        if not order.email:
            raise Invalid({"message": [NO_ADDRESS]}, NO_ADDRESS)
        if await _insert(ctx, order, message_id, "message", text):
            mail = MailRequest(kind=ORDER_MESSAGE, ref_id=message_id, order_id=order.id, is_free=True)
            await queue_mails(ctx, [mail])
            note_event(ctx, "order.message_sent", ORDER, order.id)
            await audit(ctx, "order_message_sent", "done", subject_id=order.id)


async def change_note(ctx: Context, order_id: UUID, note_id: UUID, text: str) -> None:
    _check_text("note", text)
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        note = await _get_own_note(ctx, order, note_id)
        if note.text != text:
            await writes.update_record(ctx.db, order_notes, note_id, {"text": text})
            note_event(ctx, "order.note_changed", ORDER, order.id)
            await audit(ctx, "order_note_changed", "done", subject_id=order.id)


async def delete_note(ctx: Context, order_id: UUID, note_id: UUID) -> None:
    async with ctx.db.transaction():
        order = await _lock(ctx, order_id)
        await _get_own_note(ctx, order, note_id)
        await writes.delete_record(ctx.db, order_notes, note_id)
        note_event(ctx, "order.note_deleted", ORDER, order.id)
        await audit(ctx, "order_note_deleted", "done", subject_id=order.id)


async def _lock(ctx: Context, order_id: UUID) -> Order:
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    if order.completed_at is None:
        raise Conflict("Only a completed order has notes and messages.")
    return order


async def _insert(ctx: Context, order: Order, note_id: UUID, kind: str, text: str) -> bool:
    """Inserts a note; returns False if it was saved before. The caller holds the order's lock."""
    _check_text(kind, text)
    if ctx.actor.id is None:
        raise Forbidden()
    former_note = await notes.find_note(ctx.db, note_id)
    if former_note is not None:
        if (former_note.order_id, former_note.author_id) != (order.id, ctx.actor.id):
            raise Conflict("Another note has this id.")
        return False
    if await notes.count_notes(ctx.db, order.id) >= MAX_NOTES:
        sentence = f"An order has at most {MAX_NOTES} notes and messages."
        raise Invalid({kind: [sentence]}, sentence)
    values = {"order_id": order.id, "author_id": ctx.actor.id, "kind": kind, "text": text}
    await writes.insert_record(ctx.db, order_notes, note_id, values)
    return True


async def _get_own_note(ctx: Context, order: Order, note_id: UUID) -> OrderNote:
    """Returns a note of the acting operator. What was sent to the customer cannot change."""
    note = await notes.find_note(ctx.db, note_id)
    if note is None:
        raise Conflict(NOTE_IS_GONE)
    if note.order_id != order.id or note.is_message:
        raise NotFound()
    if note.author_id != ctx.actor.id:
        raise Forbidden(NOT_OWN)
    return note


def _check_text(name: str, text: str) -> None:
    if not text.strip() or len(text) > MAX_TEXT_LENGTH:
        raise Invalid({name: [f"must be text of 1 to {MAX_TEXT_LENGTH:,} characters"]})
