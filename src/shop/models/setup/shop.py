"""The shop's settings."""

from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.base.times import find_display_zone
from shop.db.rows import Row, check, key, table
from shop.models.setup.documents import DocumentSettings
from shop.models.setup.mails import NO_MAIL_SETTINGS, MailSettings
from shop.models.setup.website import WebsiteSettings

STORE_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The id of the shop in the APIs, where every id is a UUID."""


class Shop(Row, frozen=True, kw_only=True):
    """The shop: a single row, created by migration. The first currency is the default."""

    id: int = 1
    name: str = "Shop"
    currencies: list[str]
    default_country: str = "US"
    default_locale: str = "en-US"
    time_zone: str = "UTC"
    """The IANA name of the zone whose days and times the shop shows; stored times are UTC."""
    version: int = 0
    """Incremented with every change, so that each process can detect it."""
    low_stock_threshold: int = 5
    """The count from which stock is low, unless the stock item has a threshold of its own."""
    order_prefix: str = "R"
    """What the numbers of new orders begin with."""
    order_digits: int = 10
    """The number of random digits after the prefix."""
    weight_unit: str = "kg"
    """The unit of the weights of variants and of shipping rates by weight, which are stored as plain numbers."""
    dimension_unit: str = "cm"
    refund_approval_amount: Decimal | None = None
    """The amount above which a refund by an operator needs a second one, in the currency of its order."""
    not_before: datetime | None = None
    """Sessions, codes and links created before this time are void."""
    website: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """Brand and home page; see `WebsiteSettings`."""
    mails: dict[str, Any] = {}  # noqa: RUF012
    """The settings of e-mails by kind, as far as they differ from the defaults; see `MailSettings`."""

    documents: dict[str, Any] = {}  # noqa: RUF012
    """The address and tax numbers on documents, and the format of their numbers; see `DocumentSettings`."""

    @property
    def zone(self) -> tzinfo:
        return find_display_zone(self.time_zone)

    def mail_settings(self, kind: str) -> MailSettings:
        return msgspec.convert(self.mails[kind], MailSettings) if kind in self.mails else NO_MAIL_SETTINGS

    @property
    def document_settings(self) -> DocumentSettings:
        return msgspec.convert(self.documents, DocumentSettings)

    @property
    def website_settings(self) -> WebsiteSettings:
        return msgspec.convert(self.website, WebsiteSettings)


shops = table(
    "shops", Shop, key("id"), check("only_one", "id = 1"), check("has_a_currency", "cardinality(currencies) > 0")
)


class Store(msgspec.Struct, frozen=True):
    """The shop as shoppers see it."""

    name: str
    currencies: list[str]
    default_locale: str
    default_country_id: UUID | None
    customer_support_email: str | None = None
    """The support e-mail of the settings, or else the sender of the shop's e-mails."""
    id: UUID = STORE_ID
