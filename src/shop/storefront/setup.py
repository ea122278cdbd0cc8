"""Store and country endpoints."""

import msgspec

from shop.actions.context import Context
from shop.actions.setup import shop as setup
from shop.base.errors import NotFound
from shop.base.record import Link, Record, Reference
from shop.jsonapi.document import document, list_document
from shop.jsonapi.paging import read_sort, read_window, window_extras
from shop.storefront.product_filters import read_filters
from shop.storefront.rendering import build_page, read_catalog_render_options
from shop.storefront.resources.setup import COUNTRY, COUNTRY_WITH_STATES, STORE, shop_code
from shop.web.request import Request


async def list_countries(request: Request, ctx: Context) -> bytes:
    """List all countries unless `per_page` is set; an address form needs them all."""
    drawing = read_catalog_render_options(request, ctx, COUNTRY)
    filters = read_filters(request.params, ("shippable",))
    read_sort(request.params, ())
    rows = await setup.list_countries(ctx, is_shippable=filters.get("shippable") == "true")
    page = read_window(request.params)
    if "per_page" not in request.params:
        page = msgspec.structs.replace(page, size=max(len(rows), 1))
    window = build_page(rows, page)
    url = request.url(ctx.shared.settings.public_url)
    return list_document(COUNTRY, window.records, drawing, window_extras(window, url, request.params))


async def show_country(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_render_options(request, ctx, COUNTRY_WITH_STATES)
    country, states = await setup.get_country(ctx, request.path_params["iso"])
    read_filters(request.params, ())
    records = {state.id: Record(state) for state in states}
    shippable_states = await setup.list_reachable_states(ctx, country, states)
    links = {
        "states": list(records.values()),
        "checkout_zone_applicable_states": [records[state.id] for state in shippable_states],
    }
    return document(COUNTRY_WITH_STATES, Record(country, links), drawing)


async def show_store(request: Request, ctx: Context) -> bytes:
    """Show the store, with or without its code; there is only one."""
    drawing = read_catalog_render_options(request, ctx, STORE)
    read_filters(request.params, ())
    store = await setup.get_store(ctx)
    if request.path_params.get("code", "default") not in {shop_code(store.name), "default"}:
        raise NotFound()
    country: Link = Record(Reference(store.default_country_id)) if store.default_country_id else None
    if country and "default_country" in (drawing.query.include or {}):
        country = Record((await setup.get_country(ctx, "default"))[0])
    return document(STORE, Record(store, {"default_country": country}), drawing)
