"""Statements for wishlists and their items; those for customers check the owner."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Text,
    and_,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import new_id, new_wishlist_token
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.users import users
from shop.models.catalog.prices import prices
from shop.models.catalog.products import products, variants
from shop.models.customers.inputs import OwnWishedItemInput
from shop.models.customers.wishlists import (
    PricedWishedItem,
    WishedItem,
    WishedItemView,
    Wishlist,
    wished_items,
    wishlists,
)
from shop.queries.catalog.columns import SHOPS_CURRENCY, shops_price
from shop.queries.catalog.prices import Pricing, select_best_price
from shop.queries.catalog.quotes import IS_SOLD
from shop.queries.records import Records

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_now = func.now()
WISHED_ITEM_RECORDS = Records(
    table=wished_items,
    row=PricedWishedItem,
    extras={"currency": SHOPS_CURRENCY, "price": shops_price("amount", wished_items.c.variant_id)},
    amounts=frozenset({"price", "total"}),
)
"""Wished items in the Platform API, at the base price."""


def _an_id(record: Any) -> UUID:
    return cast(UUID, record[0])


_is_owners = wishlists.c.user_id == bindparam("owner_id", type_=_ID)
_has_token = wishlists.c.token == bindparam("token", type_=Text())
# Public lists of disabled users are hidden.
_is_hidden = exists().where(users.c.id == wishlists.c.user_id, users.c.disabled_at.is_not(None)).correlate(wishlists)
_LIST = statement(
    select(wishlists).where(_is_owners).order_by(wishlists.c.created_at, wishlists.c.id),
    into(Wishlist),
)
_FIND_SEEN = statement(
    select(wishlists).where(_has_token, or_(_is_owners, and_(~wishlists.c.is_private, ~_is_hidden))), into(Wishlist)
)
_FIND_OWN = statement(select(wishlists).where(_is_owners, wishlists.c.id == bindparam("id", type_=_ID)), into(Wishlist))
_FIND_DEFAULT = statement(select(wishlists).where(_is_owners, wishlists.c.is_default), into(Wishlist))
_LOCK_OWN = statement(select(wishlists).where(_is_owners, _has_token).with_for_update(), into(Wishlist))
_LOCK = statement(select(wishlists.c.id).where(wishlists.c.id == bindparam("id")).with_for_update(), _an_id)
_LOCK_OWNER = statement(
    select(users.c.id)
    .join(wishlists, wishlists.c.user_id == users.c.id)
    .where(wishlists.c.id == bindparam("id"))
    .with_for_update(of=users),
    _an_id,
)
_COUNT = statement(select(func.count()).select_from(wishlists).where(_is_owners), lambda record: cast(int, record[0]))
_INSERT = statement(
    insert(wishlists)
    .values(
        id=bindparam("id"),
        token=bindparam("token"),
        user_id=bindparam("owner_id"),
        name=bindparam("name"),
        is_private=bindparam("is_private"),
        is_default=bindparam("is_default"),
        created_at=_now,
        updated_at=_now,
    )
    .returning(wishlists),
    into(Wishlist),
)
_CLEAR_DEFAULT = statement(
    update(wishlists)
    .where(_is_owners, wishlists.c.is_default)
    .values(is_default=False, updated_at=_now)
    .returning(wishlists),
    into(Wishlist),
)
_DELETE = statement(delete(wishlists).where(_is_owners, _has_token).returning(wishlists), into(Wishlist))

_of_lists = wished_items.c.wishlist_id == any_of("ids", _ID)
_order = (wished_items.c.created_at, wished_items.c.id)
_ITEMS = statement(select(wished_items).where(_of_lists).order_by(*_order), into(WishedItem))
_PURCHASABLE = statement(
    select(variants.c.id)
    .join(products, products.c.id == variants.c.product_id)
    .where(variants.c.id == any_of("ids", _ID), IS_SOLD),
    _an_id,
)
_new_items = (
    func.unnest(
        bindparam("ids", type_=_IDS),
        bindparam("variant_ids", type_=_IDS),
        bindparam("quantities", type_=ARRAY(BigInteger)),
    )
    .table_valued(column("id", _ID), column("variant_id", _ID), column("quantity", BigInteger), name="given")
    .render_derived()
)
_values = {
    "id": _new_items.c.id,
    "wishlist_id": bindparam("list_id", type_=_ID),
    "variant_id": _new_items.c.variant_id,
    "quantity": _new_items.c.quantity,
    "created_at": _now,
    "updated_at": _now,
}
_put = insert(wished_items).from_select(list(_values), select(*_values.values()))
_PUT = statement(
    _put.on_conflict_do_update(
        index_elements=["wishlist_id", "variant_id"], set_={"quantity": _put.excluded.quantity, "updated_at": _now}
    ).returning(wished_items.c.id),
    _an_id,
)
_of_list = wished_items.c.wishlist_id == bindparam("list_id", type_=_ID)
_UPDATE_ITEM = statement(
    update(wished_items)
    .where(_of_list, wished_items.c.id == bindparam("item_id", type_=_ID))
    .values(
        quantity=func.coalesce(bindparam("new_quantity", type_=BigInteger), wished_items.c.quantity),
        notify_when_in_stock=func.coalesce(bindparam("notify", type_=Boolean), wished_items.c.notify_when_in_stock),
        updated_at=_now,
    )
    .returning(wished_items.c.id),
    _an_id,
)
_REMOVE = statement(
    delete(wished_items).where(_of_list, wished_items.c.id == any_of("ids", _ID)).returning(wished_items.c.id),
    _an_id,
)


@lru_cache(maxsize=4)
def _items_statement(by: str, *, is_personal: bool) -> Statement[WishedItemView]:
    """Builds the statement for items by wishlist or by id, at the viewer's price for their quantity."""
    currency = bindparam("currency", type_=Text())
    source: Any = (
        wished_items.join(variants, variants.c.id == wished_items.c.variant_id)
        .join(products, products.c.id == variants.c.product_id)
        .outerjoin(prices, and_(prices.c.variant_id == variants.c.id, prices.c.currency == currency))
    )
    price: Any = prices.c.amount
    if is_personal:
        best_price = select_best_price(
            variants.c.id, prices.c.amount, wished_items.c.quantity, wished_items, variants, prices
        )
        source = source.outerjoin(best_price, true())
        price = func.coalesce(best_price.c.amount, prices.c.amount)
    clause = select(
        wished_items,
        currency.label("currency"),
        # No price if the variant is not for sale.
        case((IS_SOLD, price)).label("price"),
        variants.c.deleted_at.is_not(None).label("is_gone"),
    )
    these = wished_items.c[by] == any_of("ids", _ID)
    return dynamic_statement(clause.select_from(source).where(these).order_by(*_order), into(WishedItemView))


async def list_lists(db: DatabaseSession, owner_id: UUID) -> list[Wishlist]:
    return await db.all(_LIST, owner_id=owner_id)


async def find_visible_list(db: DatabaseSession, token: str, viewer_id: UUID | None) -> Wishlist | None:
    """Finds a public list, or one of the viewer's own."""
    return await db.one(_FIND_SEEN, token=token, owner_id=viewer_id)


async def find_own(db: DatabaseSession, owner_id: UUID, list_id: UUID) -> Wishlist | None:
    return await db.one(_FIND_OWN, owner_id=owner_id, id=list_id)


async def find_default(db: DatabaseSession, owner_id: UUID) -> Wishlist | None:
    return await db.one(_FIND_DEFAULT, owner_id=owner_id)


async def lock_own(db: DatabaseSession, owner_id: UUID, token: str) -> Wishlist | None:
    """Locks an own list, so that concurrent additions are counted one after the other."""
    return await db.one(_LOCK_OWN, owner_id=owner_id, token=token)


async def lock_list(db: DatabaseSession, list_id: UUID) -> bool:
    """Locks a list of any owner; returns whether it exists."""
    return await db.one(_LOCK, id=list_id) is not None


async def lock_owner(db: DatabaseSession, list_id: UUID) -> None:
    await db.one(_LOCK_OWNER, id=list_id)


async def count_lists(db: DatabaseSession, owner_id: UUID) -> int:
    return await db.one(_COUNT, owner_id=owner_id) or 0


async def insert_list(
    db: DatabaseSession, owner_id: UUID, *, name: str, is_private: bool, is_default: bool
) -> Wishlist:
    values = {"name": name, "is_private": is_private, "is_default": is_default}
    wishlist = await db.one(_INSERT, id=new_id(), token=new_wishlist_token(), owner_id=owner_id, **values)
    return cast(Wishlist, wishlist)


async def clear_default(db: DatabaseSession, owner_id: UUID) -> list[Wishlist]:
    """Returns the lists that are no longer the default."""
    return await db.all(_CLEAR_DEFAULT, owner_id=owner_id)


async def delete_list(db: DatabaseSession, owner_id: UUID, token: str) -> Wishlist | None:
    """Deletes a list with its items and returns it."""
    return await db.one(_DELETE, owner_id=owner_id, token=token)


async def list_items(db: DatabaseSession, list_ids: Sequence[UUID]) -> list[WishedItem]:
    """Returns the items of these lists, oldest first."""
    return await db.all(_ITEMS, ids=list_ids) if list_ids else []


async def list_priced_items(db: DatabaseSession, list_ids: Sequence[UUID], pricing: Pricing) -> list[WishedItemView]:
    return await _list_priced(db, "wishlist_id", list_ids, pricing)


async def find_priced_item(db: DatabaseSession, item_id: UUID, pricing: Pricing) -> WishedItemView | None:
    return next(iter(await _list_priced(db, "id", [item_id], pricing)), None)


async def _list_priced(db: DatabaseSession, by: str, ids: Sequence[UUID], pricing: Pricing) -> list[WishedItemView]:
    lists = pricing.values if pricing.is_personal else {}
    query = _items_statement(by, is_personal=pricing.is_personal)
    return await db.all(query, ids=ids, currency=pricing.currency, **lists) if ids else []


async def list_purchasable_ids(db: DatabaseSession, variant_ids: Sequence[UUID]) -> set[UUID]:
    """Returns the variants that are for sale, regardless of stock."""
    return set(await db.all(_PURCHASABLE, ids=variant_ids)) if variant_ids else set()


async def add_items(db: DatabaseSession, list_id: UUID, items: Sequence[OwnWishedItemInput]) -> list[UUID]:
    """Upserts one item per variant and sets its quantity."""
    # Items with the same creation time are sorted by id, which must be the order of the request.
    ids = sorted(new_id() for _ in items)
    variant_ids, quantities = [item.variant_id for item in items], [item.quantity for item in items]
    return await db.all(_PUT, list_id=list_id, ids=ids, variant_ids=variant_ids, quantities=quantities)


async def update_item(
    db: DatabaseSession, list_id: UUID, item_id: UUID, *, quantity: int | None, notify: bool | None
) -> bool:
    """Changes an item of a list; None changes nothing. Returns whether it is on the list."""
    return (
        await db.one(_UPDATE_ITEM, list_id=list_id, item_id=item_id, new_quantity=quantity, notify=notify) is not None
    )


async def remove_items(db: DatabaseSession, list_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """Removes items from a list; returns the ids of those that were on it."""
    return await db.all(_REMOVE, list_id=list_id, ids=ids)
