"""Countries and their states."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, key, refers, table, unique


class Country(Row, frozen=True, kw_only=True):
    """A country. Rows are created by migration; the id is derived from the code and the same in every shop."""

    id: UUID
    iso: str
    iso3: str
    iso_name: str
    name: str
    numcode: int
    states_required: bool = False
    zipcode_required: bool = False
    created_at: datetime
    updated_at: datetime


class State(Row, frozen=True, kw_only=True):
    """A state, province or prefecture of a country whose addresses have one."""

    id: UUID
    country_id: UUID
    abbr: str
    name: str
    created_at: datetime
    updated_at: datetime


countries = table("countries", Country, key("id"), unique("iso"), unique("iso3"))


states = table("states", State, key("id"), refers("country_id", countries), unique("country_id", "abbr"))
