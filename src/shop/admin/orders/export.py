"""The orders of the filtered list as CSV."""

from collections.abc import AsyncGenerator, Iterable, Sequence

from shop.actions.context import Context
from shop.actions.customers.export import audit_bulk_export
from shop.admin.operations.downloads import csv_lines, stream_reply
from shop.admin.orders.order_filters import has_no_words, read_params, read_query
from shop.admin.pages import PageContext
from shop.base.listing import CursorPosition
from shop.queries.orders import order_list
from shop.queries.orders.order_list import SORTS, ListedOrder, OrderQuery
from shop.rules.form_values import amount_text
from shop.web.input.request import Request
from shop.web.reply import Reply

BATCH = 500
_HEADS = (
    *("Number", "Placed", "Name", "E-mail", "Country", "Items", "Total", "Currency", "Payment", "Fulfilment"),
    *("Canceled", "Channel", "Tags"),
)


async def export(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    params = read_params(request)
    query = await read_query(request, ctx, params)
    await audit_bulk_export(ctx, "orders")
    return stream_reply("orders", _write_orders(ctx, query, is_empty=has_no_words(params)))


async def _write_orders(ctx: Context, query: OrderQuery, *, is_empty: bool) -> AsyncGenerator[bytes]:
    """Yields the lines in batches, each read by its own short statement."""
    yield csv_lines([_HEADS])
    cursor: CursorPosition | None = None
    while not is_empty:
        rows = await order_list.list_orders(ctx.db, query, cursor, most=BATCH)
        if rows:
            yield csv_lines(_describe(rows))
        if len(rows) < BATCH:
            return
        last = rows[-1]
        cursor = CursorPosition("before", getattr(last, SORTS[query.sort].field), last.id)


def _describe(rows: Iterable[ListedOrder]) -> list[Sequence[str]]:
    return [
        (
            order.number,
            order.placed_at.isoformat(timespec="seconds"),
            order.name,
            order.email or "",
            order.country or "",
            str(order.item_count),
            amount_text(order.total, order.currency),
            order.currency,
            order.payment_state or "",
            order.shipment_state or "",
            order.canceled_at.isoformat(timespec="seconds") if order.canceled_at else "",
            order.channel,
            " ".join(order.tags),
        )
        for order in rows
    ]
