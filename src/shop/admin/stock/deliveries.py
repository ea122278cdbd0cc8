"""Pages for deliveries and transfers: expected goods, their lines and their receipt."""

from datetime import date
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.stock import deliveries
from shop.actions.stock.deliveries import NewDelivery
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, build_head, number_pages, read_page, read_sort, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id
from shop.queries.catalog_admin import stock as stock_pages
from shop.queries.stock import deliveries as queries
from shop.queries.stock.deliveries import ListedDelivery
from shop.rules.form_values import prefix_query
from shop.rules.stock.deliveries import read_quantity
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/stock/deliveries"
STATES = {"open": "Expected", "draft": "Drafts", "received": "Received", "canceled": "Canceled"}
SORTS = {"expected": "Expected first", "newest": "Newest", "reference": "Reference"}
LABELS = {
    "reference": "Reference",
    "location": "To",
    "source": "From",
    "expected_on": "Expected on",
    "lines": "Lines",
    "base": "",
}
_NOTICES = {
    "created": "Created.",
    "created-before": "This form was sent before: nothing else was created. This is what it created.",
    "saved": "Saved.",
    "lines": "Lines saved.",
    "received": "Received. The stock is updated.",
    "sent": "Sent. The goods have left their location.",
    "closed": "Closed.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    state = text_param(request, "state")
    state = state if state in STATES else "open"
    number, counts = read_page(request), await queries.count_deliveries(ctx.db)
    # What has ended last comes first.
    names = ("expected", "newest", "reference") if state == "open" else ("newest", "reference")
    labels = {name: SORTS[name] for name in names}
    sort = read_sort(request, labels)
    rows = await queries.list_deliveries(ctx.db, state, sort=sort, skip=(number - 1) * SIZE, most=SIZE)
    return page(
        "stock/deliveries.html",
        page_context,
        deliveries=rows,
        state=state,
        states=STATES,
        counts=counts,
        head=build_head(PATH, counts.get(state, 0), labels, sort, {"state": state}),
        pages=number_pages(PATH, {"state": state, "sort": sort}, number, counts.get(state, 0), SIZE),
    )


async def new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _new(ctx, page_context, {"kind": text_param(request, "kind")})


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        location_id, is_transfer = fields.id("location"), fields.texts.get("kind") == "transfer"
        source_id = fields.id("source") if is_transfer else None
        if location_id is None:
            fields.refuse("location", "must be chosen")
        if is_transfer and source_id is None:
            fields.refuse("source", "must be chosen")
        reference = fields.line("reference", most=60, required=True)
        expected_on, lines = _read_day(fields), fields.prose("lines")
        fields.check()
        if location_id is None:
            raise NotFound()
        new_delivery = NewDelivery(
            id=fields.form_id(),
            reference=reference,
            location_id=location_id,
            source_id=source_id,
            expected_on=expected_on,
            lines=lines,
        )
        is_new = await deliveries.create_delivery(ctx, new_delivery)
    except Invalid as error:
        return await _new(ctx, page_context, fields.texts, 422, error.errors)
    return redirect(f"{PATH}/{new_delivery.id}?done={'created' if is_new else 'created-before'}")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _show(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(fields: Fields, delivery_id: UUID) -> str:
        reference, expected_on = fields.line("reference", most=60, required=True), _read_day(fields)
        version = _read_version(fields)
        fields.check()
        await deliveries.change_delivery(ctx, delivery_id, version, reference=reference, expected_on=expected_on)
        return "saved"

    return await _act(request, ctx, page_context, save)


async def add_lines(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(fields: Fields, delivery_id: UUID) -> str:
        version = _read_version(fields) if "version" in fields.texts else None
        if "lines" in fields.texts:
            lines = fields.prose("lines")
            fields.check()
            await deliveries.paste_lines(ctx, delivery_id, version, lines)
        else:
            await deliveries.add_lines(ctx, delivery_id, version, _read_quantities(fields, "add", read_quantity))
        return "lines"

    return await _act(request, ctx, page_context, save)


async def remove_line(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(_fields: Fields, delivery_id: UUID) -> str:
        await deliveries.remove_line(ctx, delivery_id, id_of(request, "line_id"))
        return "lines"

    return await _act(request, ctx, page_context, save)


async def send(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(fields: Fields, delivery_id: UUID) -> str:
        has_arrived = fields.texts.get("do") == "arrived"
        await deliveries.send_transfer(ctx, delivery_id, _read_version(fields), has_arrived=has_arrived)
        return "received" if has_arrived else "sent"

    return await _act(request, ctx, page_context, save)


async def receive(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(fields: Fields, delivery_id: UUID) -> str:
        quantities = _read_quantities(fields, "quantity", _read_arrival)
        await deliveries.receive_delivery(ctx, delivery_id, _read_version(fields), quantities)
        return "received"

    return await _act(request, ctx, page_context, save)


async def close(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def save(fields: Fields, delivery_id: UUID) -> str:
        await deliveries.close_delivery(ctx, delivery_id, _read_version(fields))
        return "closed"

    return await _act(request, ctx, page_context, save)


async def _act(request: Request, ctx: Context, page_context: PageContext, save: Any) -> Reply:
    """Runs a form of a delivery and returns to its page, or shows why it was refused."""
    fields, delivery_id = Fields(request), id_of(request, "delivery_id")
    try:
        notice_name = await save(fields, delivery_id)
    except Invalid as error:
        quantities = fields.group("quantity")
        more = {"errors": error.errors, "form_texts": fields.texts, "quantities": quantities}
        return await _show(request, ctx, page_context, 422, **more)
    return redirect(f"{PATH}/{delivery_id}?done={notice_name}")


def _read_arrival(text: str) -> int:
    return 0 if text == "0" else read_quantity(text)


def _read_version(fields: Fields) -> int:
    version = fields.whole("version", least=0, required=True)
    return -1 if version is None else version


def _read_day(fields: Fields) -> date | None:
    text = fields.texts.get("expected_on", "").strip()
    try:
        day = date.fromisoformat(text) if text else None
        if day and not 2000 <= day.year < 2200:
            raise ValueError
    except ValueError:
        fields.refuse("expected_on", "must be a day, like 2026-11-15")
        return None
    return day


def _read_quantities(fields: Fields, name: str, read: Any) -> dict[UUID, int]:
    """Returns the quantities of the fields `name[id]`, without empty ones."""
    quantities: dict[UUID, int] = {}
    for key, text in fields.group(name).items():
        record_id = as_uuid(key)
        if record_id is None or not isinstance(text, str) or not text.strip():
            continue
        try:
            quantities[record_id] = read(text.strip())
        except ValueError as error:
            fields.refuse(f"{name}-{record_id}", str(error))
    fields.check()
    return quantities


async def _new(
    ctx: Context, page_context: PageContext, values: dict[str, str], status: int = 200, errors: Any = None
) -> Reply:
    locations = await stock_pages.list_locations(ctx.db)
    return page(
        "stock/delivery_new.html",
        page_context,
        status,
        values=values,
        new_id=as_uuid(values.get("id", "")) or new_id(),
        is_transfer=values.get("kind") == "transfer",
        locations={str(location.id): location.name for location in locations},
        labels=LABELS,
        errors=errors or {},
    )


async def _show(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    delivery = await _get(ctx, id_of(request, "delivery_id"))
    lines = await queries.list_lines(ctx.db, delivery.id)
    search = text_param(request, "q") if request.scope["method"] == "GET" else ""
    words = prefix_query(search) if search and delivery.can_change_lines else ""
    errors = more.pop("errors", {})
    return page(
        "stock/delivery.html",
        page_context,
        status,
        **{"form_texts": {}, "quantities": {}, **more},
        errors={name: texts for name, texts in errors.items() if name != "base"},
        refusal=" ".join(errors.get("base", ())),
        delivery=delivery,
        lines=lines,
        path=f"{PATH}/{delivery.id}",
        q=search,
        variants=await queries.search_variants(ctx.db, words) if words else [],
        labels={**LABELS, **{f"quantity-{line.id}": f"Quantity of {line.sku or line.product_name}" for line in lines}},
        states=STATES,
    )


async def _get(ctx: Context, delivery_id: UUID) -> ListedDelivery:
    delivery = await queries.find_delivery(ctx.db, delivery_id)
    if delivery is None:
        raise NotFound()
    return delivery
