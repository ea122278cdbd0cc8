"""Lists products with the total and the available filters."""

from collections.abc import Sequence
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from shop.actions.catalog.prices import resolve_pricing
from shop.actions.catalog.storefront import find_version
from shop.actions.context import Context
from shop.base.listing import Keyset, Page
from shop.models.catalog.product_query import ProductQuery
from shop.models.catalog.storefront import Facets, ProductMatches, ProductOnPage, StorefrontProduct
from shop.queries.catalog import product_filters, storefront
from shop.queries.catalog import product_lists as queries
from shop.queries.catalog.prices import Pricing
from shop.rules.catalog.products import filter_param

R = TypeVar("R", StorefrontProduct, ProductOnPage)
_FACET_BYTES = 600
"""What a facet takes in memory, about."""
_ID_BYTES = 80


class ProductPage(msgspec.Struct, Generic[R], frozen=True):
    """One page of products with the total and the available filters."""

    rows: Sequence[R]
    total: int
    is_estimate: bool
    facets: Facets
    pricing: Pricing
    next_cursor: tuple[object, UUID] | None = None
    """Cursor of the next page, for keyset pagination."""


async def list_products(ctx: Context, query: ProductQuery, row: type[R]) -> ProductPage[R]:
    pricing = await resolve_pricing(ctx, query.currency)
    facets = await _find_facets(ctx, query, pricing)
    query = await _resolve_filters(ctx, query, pricing)
    matching_page = await _list_matches(ctx, query, pricing, facets, row)
    if matching_page is not None:
        return matching_page
    rows = await queries.list_products(ctx.db, query, pricing, facets, row)
    if isinstance(query.page, Keyset):
        page, more = rows[: query.page.size], rows[query.page.size :]
        next_cursor = (page[-1].cursor_value, page[-1].id) if more else None
        return ProductPage(page, 0, False, facets, pricing, next_cursor)
    total, is_estimate = await _total(ctx, query, query.page, pricing, rows, facets)
    return ProductPage(rows, total, is_estimate, facets, pricing)


async def _find_facets(ctx: Context, query: ProductQuery, pricing: Pricing) -> Facets:
    """Returns the facets of the whole shop or of the taxons, from memory while their version is unchanged."""
    state = await find_version(ctx, pricing)
    key, version = ("facets", query.taxons, query.currency), (state.shared, state.facets)
    cached: tuple[object, Facets] | None = ctx.shared.fragments.find(key)
    if cached is not None and cached[0] == version:
        return cached[1]
    facets = await storefront.list_facets(ctx.db, query.taxons or (), query.currency)
    ctx.shared.fragments.save(key, (version, facets), len(repr(key)) + _FACET_BYTES * len(facets.values))
    return facets


async def _list_matches(
    ctx: Context, query: ProductQuery, pricing: Pricing, facets: Facets, row: type[R]
) -> ProductPage[R] | None:
    """Returns a page of a search, or of a choice of options, from the matches in memory: to find and rank them takes
    longer, the more products there are. None if another way is needed, or a product is not sold any more.
    """
    if isinstance(query.page, Keyset) or query.is_nothing or not queries.has_stable_matches(query, facets):
        return None
    state = await find_version(ctx, pricing)
    if state.due:
        return None  # A product appears or ends at this time, and its listing is not refreshed yet.
    key = msgspec.structs.replace(query, page=Page())
    cached: tuple[object, ProductMatches] | None = ctx.shared.matches.find(key)
    if cached is not None and cached[0] == state.matches:
        matches = cached[1]
    else:
        matches = await queries.find_matches(ctx.db, query, pricing, facets)
        ctx.shared.matches.save(key, (state.matches, matches), len(repr(key)) + len(matches.ids))
    ids = matches.page(query.page)
    rows = None if ids is None else await queries.list_matching(ctx.db, ids, pricing, row)
    return None if rows is None else ProductPage(rows, matches.total, matches.is_estimate, facets, pricing)


async def _resolve_filters(ctx: Context, query: ProductQuery, pricing: Pricing) -> ProductQuery:
    """Resolves option and property filters to ids; an unknown value matches no products."""
    if not (query.options or query.properties):
        return query
    state = await find_version(ctx, pricing)
    key, version = ("marks", query.options, query.properties), (state.shared, state.facets)
    cached_version, groups = ctx.shared.matches.find(key) or (None, ())
    if cached_version != version:
        named = await _with_property_names(ctx, query) if query.properties else query
        groups = await product_filters.find_marks(ctx.db, named)
        ctx.shared.matches.save(key, (version, groups), len(repr(key)) + sum(_ID_BYTES * len(each) for each in groups))
    return msgspec.structs.replace(
        query,
        marks=tuple(group[0] for group in groups if len(group) == 1),
        any_marks=tuple(group for group in groups if len(group) > 1),
        is_nothing=query.is_nothing or not all(groups),
    )


async def _with_property_names(ctx: Context, query: ProductQuery) -> ProductQuery:
    """Replaces property slugs by property names."""
    names = await product_filters.list_property_names(ctx.db)
    by_slug = {filter_param(name): name for name in reversed(names)} | {name: name for name in names}
    properties = tuple((by_slug.get(name, name), values) for name, values in query.properties)
    return msgspec.structs.replace(query, properties=properties)


async def _total(
    ctx: Context, query: ProductQuery, page: Page, pricing: Pricing, rows: Sequence[R], facets: Facets
) -> tuple[int, bool]:
    if query.is_plain:
        return facets.in_scope, False  # Every write updates this count.
    if 0 < len(rows) < page.size or (not rows and page.number == 1):
        return page.offset + len(rows), False  # The last page gives the total without a count.
    return await queries.count_products(ctx.db, query, pricing, rows[0].total if rows else None)
