"""The product list of a category or a search: cards, filters and page links."""

from collections.abc import Sequence
from math import ceil
from uuid import UUID

import msgspec

from shop.actions.catalog import product_lists, website
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.models.catalog.storefront import StorefrontProduct
from shop.website.caching import TimedPage
from shop.website.catalog.cards import ProductCard, build_cards
from shop.website.catalog.facets import ActiveFilter, FacetGroup, build_groups, list_active
from shop.website.catalog.filters import (
    BEST_SELLING,
    DEFAULT_SORT,
    LAST_PAGE,
    PAGE_SIZE,
    SORT_NAMES,
    ListFilters,
    amount_text,
    build_query,
)

SALES_SECONDS = 60
"""The maximum age of a page sorted by sales, which change without a change of the catalog."""


class PageLink(msgspec.Struct, frozen=True):
    """A link to a page of a list; a gap has no number."""

    number: int | None
    url: str = ""
    is_current: bool = False


class ProductList(msgspec.Struct, frozen=True):
    """A page of a product list; `catalog/list.html` renders it."""

    path: str
    filters: ListFilters
    cards: Sequence[ProductCard]
    total: str
    """The number of products in words."""
    groups: Sequence[FacetGroup]
    active: Sequence[ActiveFilter]
    sorts: Sequence[tuple[str, str]]
    price_min: str
    price_max: str
    pages: Sequence[PageLink]
    previous_url: str | None
    next_url: str | None
    clear_url: str
    """The list without filters."""


async def load_product_list(
    ctx: Context, filters: ListFilters, path: str, default_sort_name: str, taxon_id: UUID | None = None
) -> ProductList:
    """Loads a page of the list; raises NotFound for a page after the last one."""
    shop = ctx.shared.shop
    listing = await product_lists.list_products(
        ctx, build_query(filters, shop.currencies[0], taxon_id), StorefrontProduct
    )
    if filters.page > 1 and (not listing.rows or filters.page > LAST_PAGE):
        raise NotFound()
    page_count = min(ceil(listing.total / PAGE_SIZE), LAST_PAGE)
    has_previous, has_next = filters.page > 1, filters.page < page_count
    return ProductList(
        path=path,
        filters=filters,
        cards=build_cards(listing.rows, await website.load_first_images(ctx, listing.rows)),
        total=count_text(listing.total, is_estimate=listing.is_estimate),
        groups=build_groups(listing.facets.values, filters),
        active=list_active(listing.facets.values, filters, path, shop.currencies[0], shop.default_locale),
        sorts=[(DEFAULT_SORT, default_sort_name), *SORT_NAMES.items()],
        price_min=amount_text(filters.price_min),
        price_max=amount_text(filters.price_max),
        pages=build_page_links(filters, path, page_count),
        previous_url=filters.url(path, page=filters.page - 1) if has_previous else None,
        next_url=filters.url(path, page=filters.page + 1) if has_next else None,
        clear_url=ListFilters(q=filters.q, sort=filters.sort).url(path),
    )


def count_text(count: int, *, is_estimate: bool = False) -> str:
    text = "1 product" if count == 1 else f"{count:,} products"
    return f"About {text}" if is_estimate else text


def build_page_links(filters: ListFilters, path: str, page_count: int) -> list[PageLink]:
    """Builds links to the first, the last and the nearest pages."""
    if page_count < 2:
        return []
    current = filters.page
    numbers = sorted({1, page_count, *range(max(current - 1, 1), min(current + 1, page_count) + 1)})
    links: list[PageLink] = []
    for number in numbers:
        if links and links[-1].number != number - 1:
            links.append(PageLink(None))
        links.append(PageLink(number, filters.url(path, page=number), number == current))
    return links


def limit_age(page: str, filters: ListFilters) -> str | TimedPage:
    """Limits the age of a page sorted by sales."""
    return TimedPage(page, SALES_SECONDS) if filters.sort == BEST_SELLING else page
