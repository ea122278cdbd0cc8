"""Product pages: search, create, edit details, archive and delete."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import PRODUCT
from shop.actions.catalog_admin import products
from shop.actions.catalog_admin.products import DETAILS, fingerprint_details, get_product
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of, moment_text
from shop.admin.listing import SIZE, paginate_rows, read_cursor, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.catalog.products import Product
from shop.queries import dashboard
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin.products import ProductFilter
from shop.queries.catalog_bulk import cells as queries
from shop.rules.form_values import prefix_query, split_words
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products"
FILTERS = ("q", "status", "stock")
STATUSES = {"draft": "Draft: not shown", "active": "Active: for sale", "archived": "Archived: no longer sold"}
STOCK = {"": "Any stock", "in": "In stock", "out": "Sold out"}
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
    "tax_category_id": "Tax category",
    "shipping_category_id": "Shipping category",
}
MAX_EVENTS = 20
MAX_TAGS = 50
_MOMENTS = ("available_on", "make_active_at", "discontinue_on")
_NOTICES = {
    "made": "Product created.",
    "copied": "This is the copy, a draft. It has no SKUs, stock and images yet.",
    "saved": "Saved.",
    "archived": "Product archived. It is no longer sold and can be restored.",
    "deleted": "Product deleted. Existing orders keep it.",
}


def read_filter(params: Mapping[str, str]) -> ProductFilter:
    """Returns the filter of the list of products by the parameters of its URL."""
    return ProductFilter(
        query=prefix_query(params["q"]) if params["q"] else None,
        status=params["status"] if params["status"] in STATUSES else None,
        stock=params["stock"] if params["stock"] in STOCK and params["stock"] else None,
    )


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in FILTERS}
    filters = read_filter(params)
    cursor, currency = read_cursor(request), page_context.shop.currencies[0]
    rows = await product_pages.list_products(ctx.db, filters, cursor, currency=currency, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params=params)
    return page(
        "catalog/products/products.html",
        page_context,
        products=page_rows,
        pages=pages,
        params=params,
        currency=currency,
        choices={"status": {"": "Any status", **STATUSES}, "stock": STOCK},
        is_filtered=any(params.values()),
        notice=notice_of(request, _NOTICES),
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _details(ctx, page_context, product, _texts(product), notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    texts = {name: fields.texts.get(name, "") for name in DETAILS}
    try:
        values = _read(fields, product)
        fields.check()
        await products.change_details(ctx, product.id, values, expected_fingerprint=fields.texts.get("seen", ""))
    except Invalid as error:
        return await _details(
            ctx, page_context, product, texts, 422, errors=error.errors, seen=fields.texts.get("seen", "")
        )
    except Conflict as conflict:
        now = _texts(await get_product(ctx, product.id))
        names = await _category_names(ctx)
        current_values = {
            LABELS[name]: names.get(now[name], now[name])
            for name in DETAILS
            if now[name] != texts[name].replace("\r\n", "\n")
        }
        return await _details(
            ctx, page_context, product, texts, 409, conflict=conflict.sentence, current_values=current_values
        )
    return redirect(f"{PATH}/{product.id}?done=saved")


async def archive(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    await products.set_status(ctx, product.id, "archived")
    return redirect(f"{PATH}/{product.id}?done=archived")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return page(
        "confirmation.html",
        page_context,
        question=f"Delete {product.name}?",
        sentence="The product disappears from the shop and cannot be brought back. To keep it, archive it "
        "instead. Existing orders keep it.",
        action=f"{PATH}/{product.id}/delete",
        button="Delete product",
        back=f"{PATH}/{product.id}",
        back_name=product.name,
    )


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await records.delete(ctx, PRODUCT, id_of(request, "product_id"))
    return redirect(f"{PATH}?done=deleted")


async def _details(
    ctx: Context, page_context: PageContext, product: Product, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    """Renders the details form. After a conflict the form carries the current fingerprint, so a resubmit overwrites."""
    tax_names, shipping_names = await queries.list_categories(ctx.db)
    events = await dashboard.list_events(ctx.db, product.id, most=MAX_EVENTS)
    values = {**values, "seen": more.pop("seen", None) or fingerprint_details(product)}
    if "conflict" in more:
        values["seen"] = fingerprint_details(await get_product(ctx, product.id))
    return page(
        "catalog/products/product.html",
        page_context,
        status,
        **{"conflict": None, "current_values": {}, **more},
        product=product,
        values=values,
        statuses=STATUSES,
        labels=LABELS,
        events=events,
        tax_categories={"": "Default", **tax_names},
        shipping_categories={"": "Default", **shipping_names},
    )


async def _category_names(ctx: Context) -> dict[str, str]:
    """Returns the names of the tax and shipping categories by id."""
    tax_names, shipping_names = await queries.list_categories(ctx.db)
    return tax_names | shipping_names


def _texts(product: Product) -> dict[str, str]:
    """Returns the details as form texts."""
    texts = {name: str(getattr(product, name) or "") for name in DETAILS}
    moments = {name: moment_text(getattr(product, name)) for name in _MOMENTS}
    return texts | moments | {"tags": ", ".join(product.tags)}


def _read(fields: Fields, product: Product) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": fields.line("name", required=True),
        "slug": fields.line("slug", most=100) or product.slug,
        "description": fields.prose("description") or None,
        "status": fields.choice("status", STATUSES),
        "tags": split_words(fields.prose("tags", most=2000)),
        "meta_title": fields.line("meta_title") or None,
        "meta_description": fields.line("meta_description", most=500) or None,
        "meta_keywords": fields.line("meta_keywords", most=500) or None,
        "tax_category_id": _read_id(fields, "tax_category_id"),
        "shipping_category_id": _read_id(fields, "shipping_category_id"),
    }
    if len(values["tags"]) > MAX_TAGS:
        fields.refuse("tags", f"must be at most {MAX_TAGS}")
    for name in _MOMENTS:
        present = getattr(product, name)
        moment = fields.moment(name)
        # The form shows minutes; an unchanged time keeps its seconds.
        values[name] = present if present and moment_text(present) == fields.texts.get(name) else moment
    starts, ends = values["available_on"], values["discontinue_on"]
    if starts and ends and ends <= starts:
        fields.refuse("discontinue_on", "must be later than Available from")
    return values


def _read_id(fields: Fields, name: str) -> UUID | None:
    if fields.texts.get(name) and fields.id(name) is None:
        fields.refuse(name, "is not a valid choice")
    return fields.id(name)
