"""Statements for the shop's settings and the state of the database."""

from decimal import Decimal
from typing import Any, cast

import msgspec
from sqlalchemy import Text, and_, bindparam, column, exists, func, literal_column, or_, select, table, update

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.catalog.products import products
from shop.models.setup.shop import Shop, shops


class DatabaseState(msgspec.Struct, frozen=True):
    """The migration revision of the database, and whether it accepts writes."""

    revision: str
    is_writable: bool


_SHOP = statement(select(shops), into(Shop))
_revisions = table("alembic_version", column("version_num", Text()))
_is_writable = func.current_setting("transaction_read_only") == literal_column("'off'")
_STATE = statement(
    select(_revisions.c.version_num.label("revision"), _is_writable.label("is_writable")), into(DatabaseState)
)
# Changes no values, but is committed like any other write.
_TRY_WRITE = statement(
    update(_revisions).values(version_num=_revisions.c.version_num).returning(_revisions.c.version_num),
    lambda record: cast(str, record[0]),
)

# A shop counts as empty if it has the default name and currency and no products.
_is_empty = and_(shops.c.name == "Shop", shops.c.currencies == ["USD"], ~exists().select_from(products))
_EMPTY = statement(select(_is_empty), lambda record: cast(bool, record[0]))
_FILL = statement(
    update(shops)
    .where(_is_empty)
    .values(name=bindparam("new_name"), currencies=bindparam("new_currencies"))
    .returning(shops.c.id),
    lambda record: cast(int, record[0]),
)
# Optimistic locking: an edit of an older version would overwrite changes its author has not seen.
_UPDATE = statement(
    update(shops)
    .where(shops.c.version == bindparam("seen_version"))
    .values(
        name=bindparam("new_name"),
        currencies=bindparam("new_currencies"),
        default_country=bindparam("new_default_country"),
        default_locale=bindparam("new_default_locale"),
        time_zone=bindparam("new_time_zone"),
        order_prefix=bindparam("new_order_prefix"),
        order_digits=bindparam("new_order_digits"),
        weight_unit=bindparam("new_weight_unit"),
        dimension_unit=bindparam("new_dimension_unit"),
        version=shops.c.version + literal_column("1"),
    )
    .returning(shops),
    into(Shop),
)

_UPDATE_WEBSITE = statement(
    update(shops)
    .where(shops.c.version == bindparam("seen_version"))
    .values(website=bindparam("new_website"), version=shops.c.version + literal_column("1"))
    .returning(shops),
    into(Shop),
)

_UPDATE_MAILS = statement(
    update(shops)
    .where(shops.c.version == bindparam("seen_version"))
    .values(mails=bindparam("new_mails"), version=shops.c.version + literal_column("1"))
    .returning(shops),
    into(Shop),
)

_UPDATE_DOCUMENTS = statement(
    update(shops)
    .where(shops.c.version == bindparam("seen_version"))
    .values(documents=bindparam("new_documents"), version=shops.c.version + literal_column("1"))
    .returning(shops),
    into(Shop),
)

_UPDATE_THRESHOLD = statement(
    update(shops)
    .values(low_stock_threshold=bindparam("threshold"), version=shops.c.version + literal_column("1"))
    .returning(shops),
    into(Shop),
)

_UPDATE_APPROVAL = statement(
    update(shops)
    .values(
        refund_approval_amount=bindparam("amount", type_=shops.c.refund_approval_amount.type),
        version=shops.c.version + literal_column("1"),
    )
    .returning(shops),
    into(Shop),
)

# Everything created with a secret key belongs to one of these.
_IN_USE = statement(
    select(or_(*(exists().select_from(each) for each in (orders, users, operators)))),
    lambda record: cast(bool, record[0]),
)


async def find_shop(db: DatabaseSession) -> Shop | None:
    return await db.one(_SHOP)


async def find_state(db: DatabaseSession) -> DatabaseState | None:
    return await db.one(_STATE)


async def try_write(db: DatabaseSession) -> None:
    """Writes and commits without a change, to detect problems such as a missing synchronous standby."""
    await db.one(_TRY_WRITE)


async def is_in_use(db: DatabaseSession) -> bool:
    """Returns whether there are orders, users or operators."""
    return await db.one(_IN_USE) is True


async def is_empty(db: DatabaseSession) -> bool:
    return await db.one(_EMPTY) is True


async def fill_shop(db: DatabaseSession, *, name: str, currencies: list[str]) -> bool:
    return await db.one(_FILL, new_name=name, new_currencies=currencies) is not None


async def update_shop(db: DatabaseSession, *, version: int, **values: Any) -> Shop | None:
    """Updates the shop and returns it; `None` if it has changed since `version`."""
    return await db.one(_UPDATE, seen_version=version, **{f"new_{name}": value for name, value in values.items()})


async def update_website(db: DatabaseSession, *, version: int, website: dict[str, Any]) -> Shop | None:
    """Updates the website settings and returns the shop; `None` if it has changed since `version`."""
    return await db.one(_UPDATE_WEBSITE, seen_version=version, new_website=website)


async def update_mails(db: DatabaseSession, *, version: int, mails: dict[str, Any]) -> Shop | None:
    """Updates the settings of e-mails and returns the shop; `None` if it has changed since `version`."""
    return await db.one(_UPDATE_MAILS, seen_version=version, new_mails=mails)


async def update_low_stock_threshold(db: DatabaseSession, threshold: int) -> Shop:
    """Updates the threshold of low stock and returns the shop."""
    return cast(Shop, await db.one(_UPDATE_THRESHOLD, threshold=threshold))


async def update_refund_approval(db: DatabaseSession, amount: Decimal | None) -> Shop:
    """Updates the amount above which refunds need approval and returns the shop."""
    return cast(Shop, await db.one(_UPDATE_APPROVAL, amount=amount))


async def update_documents(db: DatabaseSession, *, version: int, documents: dict[str, Any]) -> Shop | None:
    """Updates the settings of documents and returns the shop; `None` if it has changed since `version`."""
    return await db.one(_UPDATE_DOCUMENTS, seen_version=version, new_documents=documents)
