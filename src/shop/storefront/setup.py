"""The endpoints that tell of the shop itself: the store, and the countries it knows."""

import msgspec

from shop.actions.context import Context
from shop.actions.setup import shop as setup
from shop.base.errors import NotFound
from shop.base.loaded import Link, Loaded, Named
from shop.jsonapi.document import document, list_document
from shop.jsonapi.paging import read_sort, read_window, window_extras
from shop.storefront.drawing import loaded_page, read_catalog_drawing
from shop.storefront.resources.setup import COUNTRY, COUNTRY_WITH_STATES, STORE, shop_code
from shop.storefront.wishes import read_filters
from shop.web.request import Request


async def list_countries(request: Request, ctx: Context) -> bytes:
    """All of them unless a size is asked for: an address form needs them at once."""
    drawing = read_catalog_drawing(request, ctx, COUNTRY)
    filters = read_filters(request.params, ("shippable",))
    read_sort(request.params, ())
    rows = await setup.list_countries(ctx, is_shippable=filters.get("shippable") == "true")
    page = read_window(request.params)
    if "per_page" not in request.params:
        page = msgspec.structs.replace(page, size=max(len(rows), 1))
    window = loaded_page(rows, page)
    url = request.url(ctx.shared.settings.public_url)
    return list_document(COUNTRY, window.records, drawing, window_extras(window, url, request.params))


async def show_country(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_drawing(request, ctx, COUNTRY_WITH_STATES)
    country, states = await setup.get_country(ctx, request.path_params["iso"])
    read_filters(request.params, ())
    loaded = {state.id: Loaded(state) for state in states}
    reached = await setup.list_reached_states(ctx, country, states)
    links = {
        "states": list(loaded.values()),
        "checkout_zone_applicable_states": [loaded[state.id] for state in reached],
    }
    return document(COUNTRY_WITH_STATES, Loaded(country, links), drawing)


async def show_store(request: Request, ctx: Context) -> bytes:
    """By its code or without one: there is one shop."""
    drawing = read_catalog_drawing(request, ctx, STORE)
    read_filters(request.params, ())
    store = await setup.get_store(ctx)
    if request.path_params.get("code", "default") not in {shop_code(store.name), "default"}:
        raise NotFound()
    country: Link = Loaded(Named(store.default_country_id)) if store.default_country_id else None
    if country and "default_country" in (drawing.query.include or {}):
        country = Loaded((await setup.get_country(ctx, "default"))[0])
    return document(STORE, Loaded(store, {"default_country": country}), drawing)
