"""The input of an edit of a placed order."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.models.customers.inputs import AddressInput

MAX_ADDITIONS = 50
"""The number of variants that one edit can add."""


class OrderEdit(msgspec.Struct, frozen=True):
    """What an operator entered for a placed order."""

    email: str | None
    ship_address: AddressInput | None
    """The new shipping address; None keeps the present one."""
    bill_address: AddressInput | None
    """The new billing address; None keeps the present one."""
    is_same_address: bool
    """Whether the shipping address is the billing address too."""
    quantities: Mapping[UUID, int]
    """The new quantities by line item; zero removes it. Other line items stay as they are."""
    additions: Mapping[UUID, int] = {}
    """The quantities to add by variant."""
    lost_line_ids: frozenset[UUID] = frozenset()
    """Line items whose removed units are damaged or lost, so that they do not return to the stock."""
