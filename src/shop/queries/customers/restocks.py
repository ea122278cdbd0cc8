"""Statements for variants that are back in stock, and for the wished items whose owners asked to be told."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, delete, exists, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.access.users import users
from shop.models.catalog.products import products, variants
from shop.models.customers.wishlists import restocked_variants, wished_items, wishlists
from shop.queries.catalog.columns import ON_HAND, OPTIONS_TEXT
from shop.queries.catalog.quotes import IS_SOLD

_ID = PG_UUID(as_uuid=True)


class WaitingItem(msgspec.Struct, frozen=True):
    """A wished item whose owner waits for stock, and the address of the owner."""

    id: UUID
    email: str


class RestockedProduct(msgspec.Struct, frozen=True):
    """The product and options of a variant that is back in stock."""

    name: str
    slug: str
    options_text: str


_new = func.unnest(bindparam("ids", type_=ARRAY(_ID))).column_valued("restocked_id")
_wanted = exists().where(wished_items.c.variant_id == _new, wished_items.c.notify_when_in_stock)
# Most variants have no owner who waits for them.
_put = insert(restocked_variants).from_select(["variant_id", "created_at"], select(_new, func.now()).where(_wanted))
_INSERT = statement(
    _put.on_conflict_do_nothing().returning(restocked_variants.c.variant_id), lambda record: cast(UUID, record[0])
)
_LOCK_NEXT = statement(
    select(restocked_variants.c.variant_id)
    .order_by(restocked_variants.c.created_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True),
    lambda record: cast(UUID, record[0]),
)
_items, _lists, _owners = wished_items.alias("items"), wishlists.alias("lists"), users.alias("owners")
_waiting_owners = (
    select(_owners.c.id)
    .distinct()
    .select_from(_items)
    .join(_lists, _lists.c.id == _items.c.wishlist_id)
    .join(_owners, _owners.c.id == _lists.c.user_id)
    .join(variants, variants.c.id == _items.c.variant_id)
    .join(products, products.c.id == variants.c.product_id)
    .where(
        _items.c.variant_id == bindparam("variant_id"),
        _items.c.notify_when_in_stock,
        _owners.c.disabled_at.is_(None),
        _owners.c.verified_at.is_not(None),
        IS_SOLD,
        ON_HAND > 0,
    )
    .order_by(_owners.c.id)
    .limit(bindparam("most", type_=BigInteger))
)
# All items of an owner at once: a product on several lists causes one e-mail.
_LOCK_WAITING = statement(
    select(wished_items.c.id, users.c.email)
    .join(wishlists, wishlists.c.id == wished_items.c.wishlist_id)
    .join(users, users.c.id == wishlists.c.user_id)
    .where(
        wished_items.c.variant_id == bindparam("variant_id"),
        wished_items.c.notify_when_in_stock,
        users.c.id.in_(_waiting_owners),
    )
    .order_by(wished_items.c.id)
    .with_for_update(of=wished_items),
    into(WaitingItem),
)
_FIND_VARIANT = statement(
    select(products.c.name, products.c.slug, OPTIONS_TEXT.label("options_text"))
    .select_from(variants.join(products, products.c.id == variants.c.product_id))
    .where(variants.c.id == bindparam("id"), variants.c.deleted_at.is_(None), products.c.deleted_at.is_(None)),
    into(RestockedProduct),
)
_RESET = statement(
    update(wished_items)
    .where(wished_items.c.id == any_of("ids", _ID))
    .values(notify_when_in_stock=False, updated_at=func.now())
    .returning(wished_items.c.id),
    lambda record: cast(UUID, record[0]),
)
_DELETE = statement(
    delete(restocked_variants)
    .where(restocked_variants.c.variant_id == bindparam("variant_id"))
    .returning(restocked_variants.c.variant_id),
    lambda record: cast(UUID, record[0]),
)


async def insert_restocked(db: DatabaseSession, variant_ids: Sequence[UUID]) -> None:
    """Notes variants that are back in stock and that owners of wishlists wait for."""
    await db.all(_INSERT, ids=sorted(set(variant_ids)))


async def lock_next(db: DatabaseSession) -> UUID | None:
    """Locks a variant that is back in stock; None if there is none, or others handle them."""
    return await db.one(_LOCK_NEXT)


async def lock_waiting_items(db: DatabaseSession, variant_id: UUID, most: int) -> list[WaitingItem]:
    """Locks the wished items of at most so many owners who wait for a variant; none if it cannot be bought."""
    return await db.all(_LOCK_WAITING, variant_id=variant_id, most=most)


async def reset_items(db: DatabaseSession, ids: Sequence[UUID]) -> None:
    await db.all(_RESET, ids=ids)


async def delete_restocked(db: DatabaseSession, variant_id: UUID) -> None:
    await db.one(_DELETE, variant_id=variant_id)


async def find_variant(db: DatabaseSession, variant_id: UUID) -> RestockedProduct | None:
    return await db.one(_FIND_VARIANT, id=variant_id)
