"""Catalog endpoints: products, variants and taxons."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta

from shop.actions.catalog import product_lists, storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.catalog.product_lists import ProductPage
from shop.actions.context import Context
from shop.base.ids import as_uuid
from shop.base.listing import Keyset, Page
from shop.base.money import currency_digits, plain_decimal, wire_decimal
from shop.jsonapi.document import NO_EXTRAS, Extras, Rendering, document, list_document
from shop.jsonapi.paging import (
    PageWindow,
    Total,
    cursor,
    keyset_extras,
    page_extras,
    paginate_rows,
    read_keyset,
    read_page,
    read_sort,
    read_window,
    window_extras,
)
from shop.models.catalog.filters import CurrencyFilters, TaxonFilters, VariantFilters
from shop.models.catalog.storefront import Facet, ProductOnPage
from shop.queries.catalog.prices import Pricing, ResolvedPrice
from shop.storefront import product_fragments
from shop.storefront.product_filters import read_currency, read_product_query
from shop.storefront.rendering import read_catalog_render_options
from shop.storefront.resources.catalog import PRODUCT, TAXON, TAXON_WITH_PRODUCTS, VARIANT
from shop.web.input.inputs import read_filters
from shop.web.input.request import Request

TaxonSortKey = tuple[UUID, Annotated[int, Meta(ge=0, le=2**31)]]
"""Sort key of a taxon: its taxonomy and its position in that tree."""


async def list_products(request: Request, ctx: Context) -> Rendering:
    options = read_catalog_render_options(request, ctx, PRODUCT)
    query = read_product_query(request.params, ctx.shared.shop)
    listing = await product_lists.list_products(ctx, query, ProductOnPage)
    products = await product_fragments.find_products(ctx, listing.rows, options, listing.pricing)
    extras = _product_pages(request, ctx, query.page, listing, len(products))
    meta = {**(extras.meta or {}), "filters": _filters(listing.facets.values)}
    variant_ids = [product.row.default_variant_id for product in products]
    meta |= await _explain_prices(request, ctx, listing.pricing, variant_ids)
    return await product_fragments.render_list(ctx, products, options, listing.pricing, Extras(meta, extras.links))


def _product_pages(
    request: Request, ctx: Context, page: Page | Keyset, listing: ProductPage[ProductOnPage], count: int
) -> Extras:
    url = _url(request, ctx)
    if isinstance(page, Keyset):
        after = cursor(*listing.next_cursor) if listing.next_cursor else None
        return keyset_extras(count, after, url, request.params)
    return page_extras(page, Total(listing.total, listing.is_estimate), count, url, request.params)


def has_fragment(request: Request, pricing: Pricing) -> bool:
    """Returns whether a product is shown from a fragment: at its regular price, which is not explained."""
    return not pricing.is_personal and request.params.get("explain") != "prices"


async def show_product(request: Request, ctx: Context) -> bytes | Rendering:
    options = read_catalog_render_options(request, ctx, PRODUCT)
    read_filters(CurrencyFilters, request.params)
    key, currency = _key(request, "slug"), read_currency(request.params, ctx.shared.shop)
    pricing = await resolve_pricing(ctx, currency)
    if has_fragment(request, pricing):
        fragment = await product_fragments.find_product(ctx, key, options, currency)
        return product_fragments.render_product(fragment, options)
    record, pricing = await storefront.get_product(ctx, key, currency, options.query.include or {})
    price_meta = await _explain_prices(request, ctx, pricing, [record.row.default_variant_id])
    return document(PRODUCT, record, options, Extras(price_meta) if price_meta else NO_EXTRAS)


async def list_variants(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, VARIANT)
    key, currency = _key(request, "slug"), read_currency(request.params, ctx.shared.shop)
    filters = read_filters(VariantFilters, request.params)
    read_sort(request.params, ())
    records, pricing = await storefront.list_variants(ctx, key, currency, filters.options, options.query.include or {})
    window = paginate_rows(records, read_window(request.params), lambda record: record.row.id)
    extras = window_extras(window, _url(request, ctx), request.params)
    meta = {
        **(extras.meta or {}),
        **await _explain_prices(request, ctx, pricing, [record.row.id for record in window.records]),
    }
    return list_document(VARIANT, window.records, options, Extras(meta, extras.links))


async def list_taxons(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, TAXON)
    page = read_keyset(request.params, TaxonSortKey) or read_page(request.params)
    filters = read_filters(TaxonFilters, request.params)
    listing = await storefront.list_taxons(ctx, filters, page, options.query.include or {})
    window = PageWindow(listing.records, listing.total, page, listing.next_cursor)
    return list_document(TAXON, listing.records, options, window_extras(window, _url(request, ctx), request.params))


async def show_taxon(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, TAXON_WITH_PRODUCTS)
    read_filters(CurrencyFilters, request.params)
    key, currency = _key(request, "permalink"), read_currency(request.params, ctx.shared.shop)
    record, _ = await storefront.get_taxon(ctx, key, currency, options.query.include or {})
    return document(TAXON_WITH_PRODUCTS, record, options)


def _url(request: Request, ctx: Context) -> str:
    return request.url(ctx.shared.settings.public_url)


def _key(request: Request, name: str) -> UUID | str:
    text = request.path_params[name]
    return as_uuid(text) or text


def _filters(facets: Sequence[Facet]) -> dict[str, Any]:
    """Builds the available filters of a product list, in Spree's format."""
    owners: dict[UUID, list[Facet]] = {}
    for facet in facets:
        owners.setdefault(facet.owner_id, []).append(facet)
    groups = sorted(owners.values(), key=lambda values: (values[0].owner_position, values[0].owner_name))
    return {
        "option_types": [_option_type(values) for values in groups if values[0].kind == "option"],
        "product_properties": [_property(values) for values in groups if values[0].kind == "property"],
    }


def _option_type(values: list[Facet]) -> dict[str, Any]:
    values.sort(key=lambda facet: (facet.position, facet.name))
    return {
        **_owner(values[0]),
        "option_values": [
            {"id": facet.id, "name": facet.name, "presentation": facet.presentation, "position": facet.position}
            for facet in values
        ],
    }


def _property(values: list[Facet]) -> dict[str, Any]:
    values.sort(key=lambda facet: facet.presentation)
    return {
        **_owner(values[0]),
        "values": [{"value": facet.presentation, "filter_param": facet.name} for facet in values],
    }


def _owner(facet: Facet) -> dict[str, Any]:
    return {"id": facet.owner_id, "name": facet.owner_name, "presentation": facet.owner_presentation}


async def _explain_prices(
    request: Request, ctx: Context, pricing: Pricing, variant_ids: Sequence[UUID]
) -> dict[str, Any]:
    """Returns, for `explain=prices`, the price list that set each price, and why."""
    if request.params.get("explain") != "prices":
        return {}
    return {
        "prices": [
            _price_explanation(price, pricing) for price in await storefront.explain_prices(ctx, pricing, variant_ids)
        ]
    }


def _price_explanation(price: ResolvedPrice, pricing: Pricing) -> dict[str, Any]:
    def amount(minor: int | None) -> str | None:
        return None if minor is None else wire_decimal(minor, currency_digits(pricing.currency))

    price_list = price.price_list_id and {
        "id": price.price_list_id,
        "name": price.price_list_name,
        "priority": price.priority,
        "min_quantity": price.min_quantity,
        "percent_off": None if price.percent_off is None else plain_decimal(price.percent_off),
    }
    return {
        "variant_id": price.variant_id,
        "currency": pricing.currency,
        "amount": amount(price.amount),
        "base_amount": amount(price.base_amount),
        "price_list": price_list,
        "why": _sentence(price),
    }


def _sentence(price: ResolvedPrice) -> str:
    if price.price_list_id is None:
        return "None of the customer's price lists has a price for this variant; the regular price applies."
    by = f"Of the customer's price lists with a price for it, {price.price_list_name!r} has the highest priority"
    if price.percent_off is not None:
        return f"{by}; it gives {price.percent_off.normalize():f} percent off the regular price."
    return f"{by}; its entry applies from a quantity of {price.min_quantity}."
