"""Zones of countries or states, and their tax rates."""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.setup.countries import countries, states
from shop.models.setup.taxes import tax_categories

KINDS = ("country", "state")


class Zone(Row, frozen=True, kw_only=True):
    """A group of countries or states with the same taxes or shipping methods."""

    id: UUID
    name: str
    description: str | None = None
    kind: str = "country"
    default_tax: bool = False
    """Whether its tax rates apply while no address is known."""
    created_at: datetime
    updated_at: datetime


class ZoneMember(Row, frozen=True, kw_only=True):
    """A country or state of a zone."""

    id: UUID
    zone_id: UUID
    country_id: UUID | None = None
    state_id: UUID | None = None
    created_at: datetime
    updated_at: datetime


class TaxRate(Row, frozen=True, kw_only=True):
    """The tax rate of a category in a zone: `0.19` is 19 percent, included in the price or added to it."""

    id: UUID
    name: str
    amount: Decimal
    included_in_price: bool = False
    show_rate_in_label: bool = True
    zone_id: UUID
    tax_category_id: UUID
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


zones = table(
    "zones",
    Zone,
    key("id"),
    unique("name"),
    check("kind_is_known", "kind in ('country', 'state')"),
    index("uq_zones_default_tax", "default_tax", where="default_tax", is_unique=True),
)
zone_members = table(
    "zone_members",
    ZoneMember,
    key("id"),
    refers("zone_id", zones, on_delete="cascade"),
    refers("country_id", countries),
    refers("state_id", states),
    unique("zone_id", "country_id"),
    unique("zone_id", "state_id"),
    index("ix_zone_members_country_id", "country_id", where="country_id is not null"),
    index("ix_zone_members_state_id", "state_id", where="state_id is not null"),
    check("is_a_country_or_a_state", "num_nonnulls(country_id, state_id) = 1"),
)
tax_rates = table(
    "tax_rates",
    TaxRate,
    key("id"),
    refers("zone_id", zones),
    refers("tax_category_id", tax_categories),
    index("ix_tax_rates_zone_id", "zone_id"),
    index("ix_tax_rates_tax_category_id", "tax_category_id"),
    check("amount_is_a_share", "amount >= 0 and amount < 10"),
)
