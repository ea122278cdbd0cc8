"""How the shop is set up: what an operator chooses once and may change later."""

from datetime import datetime
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, key, table

STORE_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The one shop's id on the wire, where every id is a UUID."""


class Shop(Row, frozen=True, kw_only=True):
    """One shop an installation: one row, made by migration. The first currency is the default."""

    id: int = 1
    name: str = "Shop"
    currencies: list[str]
    default_country: str = "US"
    default_locale: str = "en-US"
    version: int = 0
    """Grows with every change, so that each process can see that there was one."""
    not_before: datetime | None = None
    """Sessions, codes and links from before this moment are void."""


shops = table(
    "shops", Shop, key("id"), check("only_one", "id = 1"), check("has_a_currency", "cardinality(currencies) > 0")
)


class Store(msgspec.Struct, frozen=True):
    """The shop as shoppers know it."""

    name: str
    currencies: list[str]
    default_locale: str
    default_country_id: UUID | None
    customer_support_email: str | None = None
    """Where mails of the shop come from, and answers go to."""
    id: UUID = STORE_ID
