"""Orders: find them, look at one, and see what happened to it."""

from datetime import timedelta

from shop.actions.context import Context
from shop.admin.listing import SIZE, day_param, page_of, read_place, text_param, timeline
from shop.admin.pages import Visit, page
from shop.base.errors import NotFound
from shop.queries import dashboard, people
from shop.queries.dashboard import OrderFilter, sorted_by
from shop.web.reply import Reply
from shop.web.request import Request

STATES = {
    "": "All",
    "open": "Open carts",
    "completed": "Completed",
    "cart": "In the cart",
    "address": "At the address",
    "delivery": "At the delivery",
    "payment": "At the payment",
    "confirm": "At the confirmation",
    "complete": "Complete",
    "canceled": "Canceled",
}
MOST_EVENTS = 100


async def listing(request: Request, ctx: Context, visit: Visit) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "state", "since", "until")}
    wanted = _filter(request, params)
    place = read_place(request)
    rows = await dashboard.list_orders(ctx.db, wanted, place, most=SIZE + 1)
    shown, pages = page_of(request, rows, place, by=sorted_by(wanted), params=params)
    is_filtered = any(params.values())
    return page("orders.html", visit, orders=shown, pages=pages, params=params, states=STATES, is_filtered=is_filtered)


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    order = await dashboard.find_order(ctx.db, request.path_params["number"])
    if order is None:
        raise NotFound()
    events = await dashboard.list_events(ctx.db, order.id, most=MOST_EVENTS)
    ids = [address_id for address_id in {order.bill_address_id, order.ship_address_id} if address_id]
    addresses = await people.find_addresses(ctx.db, ids) if ids else {}
    user = await people.find_user(ctx.db, order.user_id) if order.user_id else None
    facts = {
        "canceled": order.canceled_at,
        "approved": order.approved_at,
        "completed": order.completed_at,
        "cart_opened": order.created_at,
    }
    events = timeline(events, facts)
    return page("order.html", visit, order=order, events=events, addresses=addresses, user=user)


def _filter(request: Request, params: dict[str, str]) -> OrderFilter:
    """An e-mail address has its sign; anything else is a number, or how one begins."""
    text, until = params["q"], day_param(request, "until")
    is_email = "@" in text
    return OrderFilter(
        number=text if text and not is_email else None,
        email=text if is_email else None,
        state=params["state"] if params["state"] in STATES else None,
        since=day_param(request, "since"),
        until=until + timedelta(days=1) if until and until.year < 9999 else None,
    )
