"""The query for a product list: filters, sort order, page and currency."""

from typing import Any
from uuid import UUID

import msgspec

from shop.base.listing import Keyset, Page, Sort
from shop.base.texts import fold_text

MAX_WORDS = 16
MAX_PAIRS = 10
"""The maximum number of options, or of properties, in one query."""


class ProductQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for a product list. A filter that is None does not apply."""

    page: Page | Keyset = Page()
    sort: tuple[Sort, ...] = ()
    currency: str
    ids: tuple[UUID, ...] | None = None
    skus: tuple[str, ...] | None = None
    slug: str | None = None
    tags: tuple[str, ...] | None = None
    taxons: tuple[UUID, ...] | None = None
    """In any of these taxons or their descendants."""
    concat_taxons: tuple[UUID, ...] | None = None
    """In all of these taxons or their descendants."""
    name: str | None = None
    q: str | None = None
    price: tuple[int, int | None] | None = None
    """Minimum and maximum in minor units; without a maximum, unbounded."""
    options: tuple[tuple[str, str], ...] = ()
    """Names of option type and value; the product must have all of them."""
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name or slug of the property, with its values; the product must have one of them."""
    option_value_ids: tuple[UUID, ...] | None = None
    """One variant must have one value of each option type listed."""
    in_stock: bool = False
    backorderable: bool = False
    purchasable: bool = False
    show_discontinued: bool = False
    is_nothing: bool = False
    """Whether a filter cannot match any product."""
    marks: tuple[UUID, ...] = ()
    """Facet ids of options and single-valued properties, once resolved."""
    any_marks: tuple[tuple[UUID, ...], ...] = ()
    """Facet ids of multi-valued properties; one match in each tuple is enough."""

    @property
    def is_plain(self) -> bool:
        """Whether this lists the whole shop or one taxon, for which the product count is precomputed."""
        filters = (self.ids, self.skus, self.slug, self.tags, self.concat_taxons, self.name, self.q, self.price)
        flags = self.in_stock or self.backorderable or self.purchasable or self.show_discontinued
        others = self.options or self.properties or self.marks or self.any_marks or flags or len(self.taxons or ()) > 1
        return (
            not others
            and not self.is_nothing
            and self.option_value_ids is None
            and all(each is None for each in filters)
        )


def search_query(text: str, weight: str = "") -> str | None:
    """Returns a tsquery that matches every word as a prefix; None if the text has no words."""
    words = fold_text(text).split()[:MAX_WORDS]
    return " & ".join(f"'{word}':*{weight}" for word in words) or None


def query_shape(criteria: ProductQuery) -> tuple[Any, ...]:
    """Returns the cache key of the statement: active filters and sort order, without values."""
    filter_names = ("ids", "skus", "slug", "tags", "taxons", "concat_taxons", "name", "q", "price", "option_value_ids")
    flags = ("in_stock", "backorderable", "purchasable", "show_discontinued")
    active = [name for name in filter_names if getattr(criteria, name) is not None]
    active += [name for name in flags if getattr(criteria, name)]
    if criteria.price and criteria.price[1] is not None:
        active.append("price_end")
    if criteria.marks:
        active.append("marks")
    active += [f"any_marks_{index}" for index in range(len(criteria.any_marks))]
    if len(criteria.taxons or ()) == 1:
        active.append("one_taxon")
    if isinstance(criteria.page, Keyset) and criteria.page.after:
        active.append("after" if criteria.page.after[0] is not None else "after_nothing")
    return frozenset(active), criteria.sort
