"""Store and country endpoints."""

import msgspec

from shop.actions.context import Context
from shop.actions.setup import shop as shop_actions
from shop.base.errors import NotFound
from shop.base.record import Link, Record, Reference
from shop.jsonapi.document import document, list_document
from shop.jsonapi.paging import read_sort, read_window, window_extras
from shop.models.filters import NoFilters
from shop.models.setup.filters import CountryFilters
from shop.storefront.rendering import build_page, read_catalog_render_options
from shop.storefront.resources.setup import COUNTRY, COUNTRY_WITH_STATES, STORE, shop_code
from shop.web.input.inputs import read_filters
from shop.web.input.request import Request


async def list_countries(request: Request, ctx: Context) -> bytes:
    """Lists all countries unless `per_page` is set; an address form needs them all."""
    options = read_catalog_render_options(request, ctx, COUNTRY)
    filters = read_filters(CountryFilters, request.params)
    read_sort(request.params, ())
    rows = await shop_actions.list_countries(ctx, is_shippable=filters.shippable)
    page = read_window(request.params)
    if "per_page" not in request.params:
        page = msgspec.structs.replace(page, size=max(len(rows), 1))
    window = build_page(rows, page)
    url = request.url(ctx.shared.settings.public_url)
    return list_document(COUNTRY, window.records, options, window_extras(window, url, request.params))


async def show_country(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, COUNTRY_WITH_STATES)
    country, states = await shop_actions.get_country(ctx, request.path_params["iso"])
    read_filters(NoFilters, request.params)
    records = {state.id: Record(state) for state in states}
    shippable_states = await shop_actions.list_reachable_states(ctx, country, states)
    links = {
        "states": list(records.values()),
        "checkout_zone_applicable_states": [records[state.id] for state in shippable_states],
    }
    return document(COUNTRY_WITH_STATES, Record(country, links), options)


async def show_store(request: Request, ctx: Context) -> bytes:
    """Shows the store. The code in the path is optional, because there is only one store."""
    options = read_catalog_render_options(request, ctx, STORE)
    read_filters(NoFilters, request.params)
    store = await shop_actions.get_store(ctx)
    if request.path_params.get("code", "default") not in {shop_code(store.name), "default"}:
        raise NotFound()
    country: Link = Record(Reference(store.default_country_id)) if store.default_country_id else None
    if country and "default_country" in (options.query.include or {}):
        country = Record((await shop_actions.get_country(ctx, "default"))[0])
    return document(STORE, Record(store, {"default_country": country}), options)
