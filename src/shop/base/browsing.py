"""What a shopper asks of a list of products: which, in which order, which page, in which currency."""

from typing import Any
from uuid import UUID

import msgspec

from shop.base.listing import Keyset, Page, Sort
from shop.base.texts import folded

MOST_WORDS = 16
MOST_PAIRS = 10
"""Options, or properties, that one list may be filtered by."""


class ProductWishes(msgspec.Struct, frozen=True, kw_only=True):
    """Filters that are none are not asked for."""

    page: Page | Keyset = Page()
    sort: tuple[Sort, ...] = ()
    currency: str
    ids: tuple[UUID, ...] | None = None
    skus: tuple[str, ...] | None = None
    slug: str | None = None
    tags: tuple[str, ...] | None = None
    taxons: tuple[UUID, ...] | None = None
    """In any of these, or below them."""
    concat_taxons: tuple[UUID, ...] | None = None
    """In all of these, or below them."""
    name: str | None = None
    q: str | None = None
    price: tuple[int, int | None] | None = None
    """Minor units from and to; without an end, from there on."""
    options: tuple[tuple[str, str], ...] = ()
    """By name of option type and value; all of them must be among the product's."""
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By name or slug of the property, with values of which the product must have one."""
    option_value_ids: tuple[UUID, ...] | None = None
    """Of one variant: one value of each option type that is named."""
    in_stock: bool = False
    backorderable: bool = False
    purchasable: bool = False
    show_discontinued: bool = False
    is_nothing: bool = False
    """A filter that no product can fulfil."""
    marks: tuple[UUID, ...] = ()
    """Options, and properties with one value, by the ids of their facets, once these are known."""
    any_marks: tuple[tuple[UUID, ...], ...] = ()
    """Properties with several values; of each, one of these facets is enough."""

    @property
    def is_plain(self) -> bool:
        """The whole shop or one taxon of it, of which it is known how many products there are."""
        narrowed = (self.ids, self.skus, self.slug, self.tags, self.concat_taxons, self.name, self.q, self.price)
        flags = self.in_stock or self.backorderable or self.purchasable or self.show_discontinued
        others = self.options or self.properties or self.marks or self.any_marks or flags or len(self.taxons or ()) > 1
        return (
            not others
            and not self.is_nothing
            and self.option_value_ids is None
            and all(each is None for each in narrowed)
        )


def search_query(text: str, weight: str = "") -> str | None:
    """Words as the database's search takes them: each must be there, or begin something that is. None without words."""
    words = folded(text).split()[:MOST_WORDS]
    return " & ".join(f"'{word}':*{weight}" for word in words) or None


def shape_of(wishes: ProductWishes) -> tuple[Any, ...]:
    """What the statement depends on: the filters that are asked for, and the order; not their values."""
    named = ("ids", "skus", "slug", "tags", "taxons", "concat_taxons", "name", "q", "price", "option_value_ids")
    flags = ("in_stock", "backorderable", "purchasable", "show_discontinued")
    asked = [name for name in named if getattr(wishes, name) is not None]
    asked += [name for name in flags if getattr(wishes, name)]
    if wishes.price and wishes.price[1] is not None:
        asked.append("price_end")
    if wishes.marks:
        asked.append("marks")
    asked += [f"any_marks_{place}" for place in range(len(wishes.any_marks))]
    if len(wishes.taxons or ()) == 1:
        asked.append("one_taxon")
    if isinstance(wishes.page, Keyset) and wishes.page.after:
        asked.append("after" if wishes.page.after[0] is not None else "after_nothing")
    return frozenset(asked), wishes.sort
