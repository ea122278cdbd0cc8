"""Price page of a product: one table of variants and currencies, saved as a whole."""

from typing import Any

from shop.actions.catalog_admin import products
from shop.actions.catalog_admin.products import PriceCell, fingerprint_prices, get_product
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict
from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin.products import AdminVariant
from shop.rules.form_values import amount_text, read_amount
from shop.web.input.request import Request
from shop.web.reply import Reply

_NOTICES = {"saved": "Prices saved.", "same": "No prices changed."}
_KINDS = ("price", "compare")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _table(ctx, page_context, product, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    variants, _ = await _load_variants_and_prices(ctx, product)
    cells = [_cell(fields, variant, code) for variant in variants for code in page_context.shop.currencies]
    texts = {kind: fields.group(kind) for kind in _KINDS}
    fingerprint = fields.texts.get("seen", "")
    if fields.errors:
        return await _table(ctx, page_context, product, 422, form_texts=texts, errors=fields.errors, seen=fingerprint)
    try:
        count = await products.save_prices(ctx, product.id, cells, expected_fingerprint=fingerprint)
    except Conflict as conflict:
        return await _table(ctx, page_context, product, 409, form_texts=texts, conflict=conflict.sentence)
    return redirect(f"/admin/products/{product.id}/prices?done={'saved' if count else 'same'}")


async def _load_variants_and_prices(ctx: Context, product: Product) -> tuple[list[AdminVariant], list[Price]]:
    """Returns the purchasable variants (the master only if there are no others) and all prices of the product."""
    variants = await product_pages.list_variants(ctx.db, product.id)
    others = [variant for variant in variants if not variant.is_master]
    return others or variants, await product_pages.list_prices(ctx.db, [variant.id for variant in variants])


def _cell(fields: Fields, variant: AdminVariant, currency: str) -> PriceCell:
    amounts: dict[str, Any] = {}
    for kind in _KINDS:
        texts = fields.group(kind).get(str(variant.id), {})
        text = texts.get(currency, "") if isinstance(texts, dict) else ""
        amounts[kind] = None
        if isinstance(text, str) and text.strip():
            try:
                amounts[kind] = read_amount(text.strip(), currency)
            except ValueError as error:
                fields.refuse(f"{kind}-{variant.id}-{currency}", str(error))
    if amounts["price"] is None and amounts["compare"] is not None:
        fields.refuse(f"price-{variant.id}-{currency}", "is required with a compare-at price")
    return PriceCell(variant.id, currency, amounts["price"], amounts["compare"])


async def _table(ctx: Context, page_context: PageContext, product: Product, status: int = 200, **more: Any) -> Reply:
    variants, prices = await _load_variants_and_prices(ctx, product)
    present = {(price.variant_id, price.currency): price for price in prices}
    texts = more.pop("form_texts", None)

    def current_text(kind: str, variant: AdminVariant, currency: str) -> str:
        price = present.get((variant.id, currency))
        if price is None:
            return ""
        return amount_text(price.amount if kind == "price" else price.compare_at_amount, currency)

    def text(kind: str, variant: AdminVariant, currency: str) -> str:
        if texts is None:
            return current_text(kind, variant, currency)
        group = texts[kind].get(str(variant.id), {})
        return str(group.get(currency, "")) if isinstance(group, dict) else ""

    cells = [(kind, variant, code) for variant in variants for code in page_context.shop.currencies for kind in _KINDS]
    current_values = {
        f"{variant.label}, {code}{', compare-at price' if kind == 'compare' else ''}": current_text(kind, variant, code)
        for kind, variant, code in cells
        if current_text(kind, variant, code) != text(kind, variant, code)
    }
    return page(
        "catalog/products/product_prices.html",
        page_context,
        status,
        **{"conflict": None, "seen": fingerprint_prices(prices), **more},
        product=product,
        variants=variants,
        current_values=current_values,
        text=text,
    )
