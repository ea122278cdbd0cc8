"""Finds the archived orders of customers whose data is being erased."""

from typing import cast
from uuid import UUID

from sqlalchemy import Text, and_, bindparam, func, literal_column, or_, select, union_all
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.accounts.erasures import erasures
from shop.models.accounts.merges import merged_addresses
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import customer_of

_user_id = bindparam("user_id", type_=PG_UUID(as_uuid=True))
_is_unfinished = (erasures.c.ended_at.is_(None), or_(_user_id.is_(None), erasures.c.user_id == _user_id))
_addresses = union_all(
    select(erasures.c.user_id, erasures.c.email.label("address")).where(*_is_unfinished),
    select(merged_addresses.c.user_id, merged_addresses.c.email_key)
    .join(erasures, erasures.c.user_id == merged_addresses.c.user_id)
    .where(*_is_unfinished),
).subquery("addresses")
_is_address = and_(
    literal_column(customer_of("archived_orders.email"), Text())
    == literal_column(customer_of("addresses.address"), Text()),
    func.lower(archived_orders.c.email) == _addresses.c.address,
)
_is_persons = or_(
    archived_orders.c.user_id == _addresses.c.user_id, and_(archived_orders.c.user_id.is_(None), _is_address)
)
_LIST = statement(
    select(archived_orders.c.id)
    .select_from(_addresses.join(archived_orders, _is_persons))
    .distinct()
    .order_by(archived_orders.c.id)
    .limit(literal_column("20")),
    lambda record: cast(UUID, record[0]),
)


async def list_archived(db: DatabaseSession, user_id: UUID | None) -> list[UUID]:
    """Returns some archived orders of a customer who is being erased, or of any; of accounts and of guests."""
    return await db.all(_LIST, user_id=user_id)
