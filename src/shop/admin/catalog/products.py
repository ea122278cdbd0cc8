"""Products: find them, make one, change what is said of it, take it away."""

from typing import Any

from shop.actions import records
from shop.actions.catalog.resources import PRODUCT
from shop.actions.catalog_forms import products
from shop.actions.catalog_forms.products import DETAILS, details_seen, get_product
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of, moment_text
from shop.admin.listing import SIZE, page_of, read_place, text_param
from shop.admin.pages import Visit, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.catalog.products import Product
from shop.queries import dashboard
from shop.queries.catalog import skus
from shop.queries.catalog_pages import products as product_pages
from shop.queries.catalog_pages.products import ProductFilter
from shop.rules.form_values import between_commas, prefix_query
from shop.web.reply import Reply
from shop.web.request import Request

HERE = "/admin/products"
STATUSES = {"draft": "Draft: not shown", "active": "Active: for sale", "archived": "Archived: no longer sold"}
STOCK = {"": "Any stock", "in": "Can be had", "out": "Sold out"}
LABELS = {
    "base": "The product",
    "name": "Name",
    "sku": "SKU",
    "price": "Price",
    "slug": "Slug",
    "description": "Description",
    "status": "Status",
    "available_on": "Available from",
    "make_active_at": "Make active at",
    "discontinue_on": "Discontinue on",
    "tags": "Tags",
    "meta_title": "Title for search engines",
    "meta_description": "Description for search engines",
    "meta_keywords": "Keywords",
}
MOST_EVENTS = 20
MOST_TAGS = 50
_MOMENTS = ("available_on", "make_active_at", "discontinue_on")
_NOTICES = {
    "made": "The product is made. Give it pictures, options and stock next.",
    "saved": "Saved.",
    "archived": "The product is archived: nobody can buy it, and it can be brought back.",
    "deleted": "The product is deleted. What was ordered of it stays in its orders.",
}


async def listing(request: Request, ctx: Context, visit: Visit) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "status", "stock")}
    wanted = ProductFilter(
        query=prefix_query(params["q"]) if params["q"] else None,
        status=params["status"] if params["status"] in STATUSES else None,
        stock=params["stock"] if params["stock"] in STOCK and params["stock"] else None,
    )
    place, currency = read_place(request), visit.shop.currencies[0]
    rows = await product_pages.list_products(ctx.db, wanted, place, currency=currency, most=SIZE + 1)
    shown, pages = page_of(request, rows, place, by="created_at", params=params)
    return page(
        "products.html",
        visit,
        products=shown,
        pages=pages,
        params=params,
        currency=currency,
        choices={"status": {"": "Any status", **STATUSES}, "stock": STOCK},
        is_filtered=any(params.values()),
        notice=notice_of(request, _NOTICES),
    )


async def new(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    return _new(visit, {"name": "", "sku": "", "price": "", "status": "draft"})


async def create(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields, currency = Fields(request), visit.shop.currencies[0]
    try:
        values: dict[str, Any] = {
            "name": fields.line("name", required=True),
            "sku": fields.line("sku", most=100),
            "status": fields.choice("status", STATUSES),
        }
        price = fields.amount("price", currency)
        if await skus.find_variants(ctx.db, [values["sku"]]):
            fields.refuse("sku", "is taken")
        fields.check()
        product_id = await records.create(ctx, PRODUCT, {**values, **({} if price is None else {"price": price})})
    except Invalid as wrong:
        typed = {name: fields.typed.get(name, "") for name in ("name", "sku", "price", "status")}
        return _new(visit, typed, 422, wrong.errors)
    return redirect(f"{HERE}/{product_id}?done=made")


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _details(ctx, visit, product, _texts(product), notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, visit: Visit) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    typed = {name: fields.typed.get(name, "") for name in DETAILS}
    try:
        values = _read(fields, product)
        fields.check()
        await products.change_details(ctx, product.id, values, seen=fields.typed.get("seen", ""))
    except Invalid as wrong:
        return await _details(ctx, visit, product, typed, 422, errors=wrong.errors, seen=fields.typed.get("seen", ""))
    except Conflict as meanwhile:
        now = _texts(await get_product(ctx, product.id))
        theirs = {LABELS[name]: now[name] for name in DETAILS if now[name] != typed[name].replace("\r\n", "\n")}
        return await _details(ctx, visit, product, typed, 409, conflict=meanwhile.sentence, theirs=theirs)
    return redirect(f"{HERE}/{product.id}?done=saved")


async def archive(request: Request, ctx: Context, _visit: Visit) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    await products.set_status(ctx, product.id, "archived")
    return redirect(f"{HERE}/{product.id}?done=archived")


async def show_delete(request: Request, ctx: Context, visit: Visit) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return page(
        "sure.html",
        visit,
        question=f"Delete {product.name}?",
        sentence="Shoppers and lists no longer see it, and it cannot be brought back; archive it if you may want it "
        "again. What was ordered of it stays in its orders.",
        action=f"{HERE}/{product.id}/delete",
        button="Delete it",
        back=f"{HERE}/{product.id}",
        back_name=product.name,
    )


async def delete(request: Request, ctx: Context, _visit: Visit) -> Reply:
    await records.delete(ctx, PRODUCT, id_of(request, "product_id"))
    return redirect(f"{HERE}?done=deleted")


def _new(visit: Visit, values: dict[str, str], status: int = 200, errors: Any = None) -> Reply:
    choices = {name: text for name, text in STATUSES.items() if name != "archived"}
    return page(
        "product_new.html",
        visit,
        status,
        values=values,
        errors=errors or {},
        labels=LABELS,
        statuses=choices,
        currency=visit.shop.currencies[0],
    )


async def _details(
    ctx: Context, visit: Visit, product: Product, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    """With a conflict the form carries what is there now, so that whoever has seen it can save over it."""
    events = await dashboard.list_events(ctx.db, product.id, most=MOST_EVENTS)
    values = {**values, "seen": more.pop("seen", None) or details_seen(product)}
    if "conflict" in more:
        values["seen"] = details_seen(await get_product(ctx, product.id))
    return page(
        "product.html",
        visit,
        status,
        **{"conflict": None, "theirs": {}, **more},
        product=product,
        values=values,
        statuses=STATUSES,
        labels=LABELS,
        events=events,
    )


def _texts(product: Product) -> dict[str, str]:
    """The details as they stand in the form."""
    texts = {name: getattr(product, name) or "" for name in DETAILS}
    moments = {name: moment_text(getattr(product, name)) for name in _MOMENTS}
    return texts | moments | {"tags": ", ".join(product.tags)}


def _read(fields: Fields, product: Product) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": fields.line("name", required=True),
        "slug": fields.line("slug", most=100) or product.slug,
        "description": fields.prose("description") or None,
        "status": fields.choice("status", STATUSES),
        "tags": between_commas(fields.prose("tags", most=2000)),
        "meta_title": fields.line("meta_title") or None,
        "meta_description": fields.line("meta_description", most=500) or None,
        "meta_keywords": fields.line("meta_keywords", most=500) or None,
    }
    if len(values["tags"]) > MOST_TAGS:
        fields.refuse("tags", f"must be at most {MOST_TAGS}")
    for name in _MOMENTS:
        present = getattr(product, name)
        typed = fields.moment(name)
        # The form shows minutes; a moment that nobody touched keeps its seconds.
        values[name] = present if present and moment_text(present) == fields.typed.get(name) else typed
    starts, ends = values["available_on"], values["discontinue_on"]
    if starts and ends and ends <= starts:
        fields.refuse("discontinue_on", "must be later than the moment it is available from")
    return values
