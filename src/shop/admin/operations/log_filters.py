"""The filters of the event log and the audit, as their URLs have them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.admin.listing import read_day_range, text_param
from shop.base.email import read_email
from shop.base.ids import as_uuid
from shop.queries import logs
from shop.queries.logs import LogFilter
from shop.web.input.request import Request

ACTOR_KINDS = {
    "operator": "Operators",
    "application": "Applications",
    "user": "Customers",
    "guest": "Guests",
    "command line": "Command line",
    "shop": "The shop itself",
}
SORTS = {"newest": "Newest", "oldest": "Oldest"}
NAMES = ("type", "subject", "actor", "since", "until")
_NOBODY = UUID(int=0)
_PAGES = {
    "application": "/admin/integrations/api/{}",
    "customer_group": "/admin/customer-groups/{}",
    "operator": "/admin/settings/operators",
    "order": "/admin/orders/{}",
    "price_list": "/admin/price-lists/{}",
    "product": "/admin/products/{}",
    "promotion": "/admin/promotions/{}",
    "shop": "/admin/settings/shop",
    "stock_item": "/admin/stock/{}",
    "stock_location": "/admin/stock/locations/{}",
    "taxon": "/admin/taxons/{}",
    "user": "/admin/customers/{}",
    "webhook_endpoint": "/admin/integrations/webhooks/{}",
}
"""The pages of records, by the type of the record."""


async def read_filter(request: Request, ctx: Context) -> tuple[dict[str, str], LogFilter]:
    """Returns the filter as the URL has it and as the query needs it."""
    params = {name: text_param(request, name) for name in NAMES}
    subject_type, subject_id = await _find_subject(ctx, params["subject"])
    actor_id = as_uuid(params["actor"])
    since, until = read_day_range(request, ctx.shared.shop.zone)
    criteria = LogFilter(
        type=params["type"] or None,
        subject_type=subject_type,
        subject_id=subject_id,
        actor_kind=params["actor"] if params["actor"] in ACTOR_KINDS else None,
        actor_id=actor_id,
        since=since,
        until=until,
    )
    return params, criteria


async def name_actors(ctx: Context, rows: Iterable[Any]) -> Mapping[UUID, str]:
    """Returns the names of the actors of events or audit events."""
    return await logs.name_actors(ctx.db, list({row.actor_id for row in rows if row.actor_id}))


async def list_actor_options(ctx: Context) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    """Returns the choices of the actor filter, in groups: kinds, operators, applications."""
    actors = await logs.list_actors(ctx.db)
    groups: list[tuple[str, Sequence[tuple[str, str]]]] = [("Kind", list(ACTOR_KINDS.items()))]
    for kind in ("operator", "application"):
        if options := [(str(actor.id), actor.name) for each, actor in actors if each == kind]:
            groups.append((ACTOR_KINDS[kind], options))
    return groups


def page_of(subject_type: str | None, subject_id: UUID | None, row: Mapping[str, Any] | None = None) -> str | None:
    """Returns the path of the page of a record, or of the order that it is a part of."""
    if subject_type in _PAGES:
        return _PAGES[subject_type].format(subject_id)
    order_id = row.get("order_id") if row else None
    return _PAGES["order"].format(order_id) if order_id else None


async def _find_subject(ctx: Context, text: str) -> tuple[str | None, UUID | None]:
    """Reads a subject: an id, the number of an order, the e-mail address of a customer, or a type of records."""
    if not text:
        return None, None
    if record_id := as_uuid(text):
        return None, record_id
    if email := read_email(text):
        return None, await logs.find_user_id(ctx.db, email.key) or _NOBODY
    if order_id := await logs.find_order_id(ctx.db, text.upper()):
        return None, order_id
    return text.lower().replace(" ", "_"), None
