"""Filters of a customer's saved cards."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from shop.models.filters import Filters


class CardFilters(Filters, frozen=True):
    """The filters of the list of saved cards."""

    # An invalid id has the error code of an unknown filter: clients may rely on it.
    payment_method_id: Annotated[UUID, Meta(extra={"code": "unknown_filter"})] | None = None
