"""Product pages: search, archive and delete."""

from collections.abc import Mapping
from functools import partial

from shop.actions import records
from shop.actions.catalog.resources import PRODUCT
from shop.actions.catalog_admin import products
from shop.actions.catalog_admin.products import get_product
from shop.actions.context import Context
from shop.admin.fields import id_of
from shop.admin.listing import (
    SIZE,
    build_head,
    count_list,
    paginate_rows,
    read_cursor,
    read_sort,
    remember_long,
    text_param,
)
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import GOODS_USERS, link_uses, list_website_uses
from shop.models.catalog.products import products as product_table
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin.products import ProductFilter
from shop.queries.catalog_bulk.batches import count_products
from shop.queries.dashboard import COUNT_LIMIT
from shop.queries.setup.uses import list_goods_uses, list_losses, list_promotion_uses
from shop.rules.form_values import prefix_query
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products"
FILTERS = ("q", "status", "stock")
STATUSES = {"draft": "Draft: not shown", "active": "Active: for sale", "archived": "Archived: no longer sold"}
STOCK = {"": "Any stock", "in": "In stock", "out": "Sold out"}
SORTS = {"newest": "Newest", "oldest": "Oldest", "name": "Name", "changed": "Last changed"}
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
MAX_TAGS = 50
NOTICES = {
    "made": "Product created.",
    "copied": "This is the copy, a draft. It has no SKUs and stock yet.",
    "copied_partly": "This is the copy, a draft, without SKUs and stock. Some images could not be copied; add them.",
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
    filters, sort = read_filter(params), read_sort(request, SORTS)
    order, currency = product_pages.SORTS[sort], page_context.shop.currencies[0]
    cursor = read_cursor(request, order.kind)
    rows = await product_pages.list_products(ctx.db, filters, cursor, currency=currency, most=SIZE + 1, sort=sort)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params={**params, "sort": sort})
    is_filtered = any(params.values())
    count_matches = partial(count_products, ctx.db, filters, most=COUNT_LIMIT + 1)
    count_all = count_matches if is_filtered else remember_long(ctx, "products", count_matches)
    count = await count_list(rows, cursor, count_all)
    return page(
        "catalog/products/products.html",
        page_context,
        products=page_rows,
        head=build_head(PATH, count, SORTS, sort, params),
        pages=pages,
        params=params,
        currency=currency,
        choices={"status": {"": "Any status", **STATUSES}, "stock": STOCK},
        is_filtered=is_filtered,
        notice=notice_of(request, NOTICES),
    )


async def archive(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    await products.set_status(ctx, product.id, "archived")
    return redirect(f"{PATH}/{product.id}?done=archived")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    variants = await product_pages.list_variants(ctx.db, product.id)
    uses = await list_promotion_uses(ctx.db, "product_ids", product.id)
    uses += list_website_uses(page_context.shop, product.id)
    uses += await list_losses(ctx.db, product_table, {"menu_items"}, product.id)
    uses += await list_goods_uses(ctx.db, [variant.id for variant in variants])
    return confirmation_page(
        page_context,
        question=f"Delete {product.name}?",
        sentence="The product disappears from the shop with its variants, prices and stock, and what is expected of it "
        "can no longer be received. Existing orders keep it. This cannot be undone. To stop selling it and keep it, "
        "archive it instead.",
        uses=link_uses(uses, GOODS_USERS),
        action=f"{PATH}/{product.id}/delete",
        button="Delete product",
        instead=(f"{PATH}/{product.id}/archive", "Archive product") if product.status != "archived" else None,
        back=(f"{PATH}/{product.id}", product.name),
    )


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await records.delete(ctx, PRODUCT, id_of(request, "product_id"))
    return redirect(f"{PATH}?done=deleted")
