"""Form handlers for the notes of an order and the messages to its customer."""

from collections.abc import Awaitable, Callable
from typing import Any

from shop.actions.context import Context
from shop.actions.order_edits import notes
from shop.actions.orders.pages import get_order
from shop.admin.fields import Fields, id_of
from shop.admin.orders.orders import address_of, order_page
from shop.admin.pages import PageContext, redirect
from shop.base.errors import Conflict, Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.order_edits.notes import MAX_TEXT_LENGTH
from shop.web.input.request import Request
from shop.web.reply import Reply


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    text = fields.prose("note", most=MAX_TEXT_LENGTH)
    note_id = fields.id("id") or new_id()
    return await _run(ctx, page_context, order, fields, lambda: notes.add_note(ctx, order.id, note_id, text), "noted")


async def send(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    text = fields.prose("message", most=MAX_TEXT_LENGTH)
    message_id = fields.id("id") or new_id()
    return await _run(
        ctx, page_context, order, fields, lambda: notes.send_message(ctx, order.id, message_id, text), "messaged"
    )


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    note_id, text = id_of(request, "note_id"), fields.prose("note", most=MAX_TEXT_LENGTH)

    async def act() -> None:
        await notes.change_note(ctx, order.id, note_id, text)

    return await _run(ctx, page_context, order, fields, act, "note-saved", note_id=note_id)


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    note_id = id_of(request, "note_id")
    return await _run(
        ctx, page_context, order, fields, lambda: notes.delete_note(ctx, order.id, note_id), "note-deleted"
    )


async def _run(
    ctx: Context,
    page_context: PageContext,
    order: Order,
    fields: Fields,
    act: Callable[[], Awaitable[None]],
    notice: str,
    **more: Any,
) -> Reply:
    """Runs the change and redirects to the order, or shows the form with what was entered and the reason."""
    try:
        fields.check()
        await act()
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        now = await get_order(ctx, order.number)
        texts = {name: fields.texts.get(name, "") for name in ("note", "message")}
        return await order_page(ctx, page_context, now, error.status, errors=errors, texts=texts, **more)
    return redirect(f"{address_of(order)}?done={notice}")
