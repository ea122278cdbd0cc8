"""Statements that explain a customer's price: all price lists of the customer and their entries for variants."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Text, bindparam, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.access.users import CustomerGroup, customer_group_members, customer_groups
from shop.models.catalog.prices import (
    CustomerPriceList,
    PriceListEntry,
    price_list_entries,
    price_list_groups,
    price_list_users,
    price_lists,
)
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products, variants
from shop.queries.catalog.columns import OPTIONS_TEXT
from shop.queries.catalog.prices import pricing_time
from shop.queries.catalog_admin.products import matches_search
from shop.queries.catalog_admin.variants import NamedVariant

_ID = PG_UUID(as_uuid=True)
_user_id = bindparam("user_id", type_=_ID)
_direct = (
    select(price_list_users.c.id)
    .where(price_list_users.c.price_list_id == price_lists.c.id, price_list_users.c.user_id == _user_id)
    .correlate(price_lists)
    .exists()
)
_group_names = func.array(
    select(customer_groups.c.name)
    .join(price_list_groups, price_list_groups.c.customer_group_id == customer_groups.c.id)
    .join(customer_group_members, customer_group_members.c.customer_group_id == customer_groups.c.id)
    .where(price_list_groups.c.price_list_id == price_lists.c.id, customer_group_members.c.user_id == _user_id)
    .order_by(customer_groups.c.name)
    .correlate(price_lists)
    .scalar_subquery(),
    type_=ARRAY(Text()),
)
_lists = (
    select(
        price_lists,
        _direct.label("is_direct"),
        _group_names.label("group_names"),
        func.coalesce(price_lists.c.starts_at <= pricing_time(), True).label("has_begun"),
        func.coalesce(price_lists.c.ends_at <= pricing_time(), False).label("has_ended"),
    )
    .order_by(price_lists.c.priority.desc(), price_lists.c.name)
    .subquery("theirs")
)
_LISTS = statement(
    select(_lists)
    .where(or_(_lists.c.is_direct, func.cardinality(_lists.c.group_names) > 0))
    .order_by(_lists.c.priority.desc(), _lists.c.name),
    into(CustomerPriceList),
)
_ENTRIES = statement(
    select(price_list_entries)
    .where(
        price_list_entries.c.price_list_id == any_of("list_ids", _ID),
        price_list_entries.c.variant_id == any_of("variant_ids", _ID),
    )
    .order_by(price_list_entries.c.min_quantity),
    into(PriceListEntry),
)
# Variants for sale of the matching products: the master only if there are no others.
_SEARCH = statement(
    select(
        variants.c.id,
        variants.c.product_id,
        products.c.name.label("product_name"),
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
    )
    .select_from(
        listings.join(products, products.c.id == listings.c.product_id).join(
            variants, variants.c.product_id == products.c.id
        )
    )
    .where(
        products.c.deleted_at.is_(None),
        variants.c.deleted_at.is_(None),
        or_(~variants.c.is_master, func.cardinality(listings.c.variant_ids) == 0),
        matches_search(bindparam("query", type_=Text())),
    )
    .order_by(products.c.name, products.c.id, variants.c.position, variants.c.id)
    .limit(bindparam("most", type_=BigInteger())),
    into(NamedVariant),
)
_GROUPS = statement(
    select(customer_groups)
    .join(customer_group_members, customer_group_members.c.customer_group_id == customer_groups.c.id)
    .where(customer_group_members.c.user_id == _user_id)
    .order_by(customer_groups.c.name),
    into(CustomerGroup),
)


async def list_customers_lists(
    db: DatabaseSession, user_id: UUID, at: datetime | None = None
) -> list[CustomerPriceList]:
    """Returns all price lists of a customer, active or not, as of `at` or now."""
    return await db.all(_LISTS, user_id=user_id, at=at)


async def list_entries_of(
    db: DatabaseSession, list_ids: Iterable[UUID], variant_ids: Iterable[UUID]
) -> list[PriceListEntry]:
    """Returns entries by minimum quantity, smallest first."""
    return await db.all(_ENTRIES, list_ids=list(list_ids), variant_ids=list(variant_ids))


async def search_variants(db: DatabaseSession, query: str, *, most: int) -> list[NamedVariant]:
    return await db.all(_SEARCH, query=query, most=most)


async def list_groups_of(db: DatabaseSession, user_id: UUID) -> list[CustomerGroup]:
    return await db.all(_GROUPS, user_id=user_id)
