"""Filters of the country list."""

from shop.models.filters import Filters


class CountryFilters(Filters, frozen=True):
    """The filters of the country list."""

    shippable: bool = False
