"""Base prices of variants by currency, and price lists for customers and groups."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import customer_groups, users
from shop.models.catalog.products import variants


class Price(Row, frozen=True, kw_only=True):
    """The base price of a variant, in minor units of `currency`."""

    id: UUID
    variant_id: UUID
    currency: str
    amount: int
    compare_at_amount: int | None = None
    """The former price, displayed struck through."""
    created_at: datetime
    updated_at: datetime


class PriceList(Row, frozen=True, kw_only=True):
    """Prices for the customers and groups it is assigned to. Of several lists with a price, the highest priority wins,
    then the lower price.
    """

    id: UUID
    name: str
    currency: str
    priority: int = 0
    percent_off: Decimal | None = None
    """The discount on the base price of variants without an entry in the list."""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    active: bool = True
    created_at: datetime
    updated_at: datetime


class PriceListEntry(Row, frozen=True, kw_only=True):
    """A variant's price in a list from a minimum quantity; `amount` is in minor units of the list's currency."""

    id: UUID
    price_list_id: UUID
    variant_id: UUID
    amount: int
    min_quantity: int = 1
    created_at: datetime
    updated_at: datetime


class PriceListUser(Row, frozen=True, kw_only=True):
    """The assignment of a list to a customer."""

    id: UUID
    price_list_id: UUID
    user_id: UUID
    created_at: datetime
    updated_at: datetime


class PriceListGroup(Row, frozen=True, kw_only=True):
    """The assignment of a list to a customer group."""

    id: UUID
    price_list_id: UUID
    customer_group_id: UUID
    created_at: datetime
    updated_at: datetime


class CustomerPriceList(PriceList, frozen=True, kw_only=True):
    """A price list of a customer, with how it is assigned and whether it has begun and ended at a given time."""

    is_direct: bool
    group_names: list[str]
    has_begun: bool
    has_ended: bool


_CODE = "currency ~ '^[A-Z]{3}$'"
prices = table(
    "prices",
    Price,
    key("id"),
    refers("variant_id", variants, on_delete="cascade"),
    unique("variant_id", "currency"),
    index("ix_prices_currency_amount", "currency", "amount", "variant_id"),
    check("currency_is_a_code", _CODE),
    check("amount_not_negative", "amount >= 0 and compare_at_amount >= 0"),
)
price_lists = table(
    "price_lists",
    PriceList,
    key("id"),
    unique("name"),
    check("currency_is_a_code", _CODE),
    check("percent_is_one", "percent_off > 0 and percent_off <= 100"),
    check("ends_after_start", "ends_at > starts_at"),
)
price_list_entries = table(
    "price_list_entries",
    PriceListEntry,
    key("id"),
    refers("price_list_id", price_lists, on_delete="cascade"),
    refers("variant_id", variants, on_delete="cascade"),
    # For the prices of a page of variants in the customer's lists.
    unique("variant_id", "price_list_id", "min_quantity"),
    index("ix_price_list_entries_price_list_id", "price_list_id", "id"),
    check("amount_not_negative", "amount >= 0"),
    check("from_one_on", "min_quantity >= 1"),
)
price_list_users = table(
    "price_list_users",
    PriceListUser,
    key("id"),
    refers("price_list_id", price_lists, on_delete="cascade"),
    refers("user_id", users, on_delete="cascade"),
    unique("user_id", "price_list_id"),
    index("ix_price_list_users_price_list_id", "price_list_id"),
)
price_list_groups = table(
    "price_list_groups",
    PriceListGroup,
    key("id"),
    refers("price_list_id", price_lists, on_delete="cascade"),
    refers("customer_group_id", customer_groups, on_delete="cascade"),
    unique("customer_group_id", "price_list_id"),
    index("ix_price_list_groups_price_list_id", "price_list_id"),
)
