"""Filters of the public lists of pages and menus."""

from shop.models.filters import Filters, LikePart, LookupText


class PageFilters(Filters, frozen=True):
    """The filters of the page list; a part of a title matches."""

    title: LikePart | None = None
    type: LookupText | None = None
    locale: LookupText | None = None


class MenuFilters(Filters, frozen=True):
    """The filters of the menu list."""

    location: LookupText | None = None
    locale: LookupText | None = None
    name: LookupText | None = None
