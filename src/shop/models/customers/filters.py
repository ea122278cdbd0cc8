"""Filters of a customer's lists."""

from typing import Annotated

from msgspec import Meta

from shop.models.filters import Filters


class AddressFilters(Filters, frozen=True):
    """The filters of a customer's address list."""

    # Spree clients send this filter. There is no quick checkout, so any value is accepted and has no effect.
    exclude_quick_checkout: Annotated[bool, Meta(extra={"read": bool})] = False
