"""Statements for refunds that wait for approval."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import bindparam, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.cart.orders import orders
from shop.models.order_edits.approvals import MAX_AGE_DAYS, RefundRequest, refund_requests
from shop.queries.dashboard import SortOrder, load_page, paginate


class ListedRequest(RefundRequest, frozen=True, kw_only=True):
    """A request with its order and the address of its author."""

    number: str
    currency: str
    requester_email: str | None = None
    expires_at: datetime


class LockedRequest(RefundRequest, frozen=True, kw_only=True):
    """A request, and whether it is too old."""

    is_expired: bool


_ID = PG_UUID(as_uuid=True)
_expires_at = refund_requests.c.created_at + timedelta(days=MAX_AGE_DAYS)
IS_OPEN = (refund_requests.c.state == literal_column("'pending'"), _expires_at > func.now())
SORTS: Mapping[str, SortOrder] = {
    "oldest": SortOrder(refund_requests.c.created_at, is_ascending=True),
    "newest": SortOrder(refund_requests.c.created_at),
}
_open_requests = (
    select(
        refund_requests,
        orders.c.number,
        orders.c.currency,
        operators.c.email.label("requester_email"),
        _expires_at.label("expires_at"),
    )
    .join(orders, orders.c.id == refund_requests.c.order_id)
    .outerjoin(operators, operators.c.id == refund_requests.c.requester_id)
    .where(*IS_OPEN)
)
_LIST = {
    (sort, side): statement(paginate(_open_requests, order, refund_requests.c.id, side), into(ListedRequest))
    for sort, order in SORTS.items()
    for side in (None, "before", "after")
}
_COUNT = statement(select(func.count()).select_from(refund_requests).where(*IS_OPEN), lambda record: int(record[0]))
_FIND_OPEN = statement(
    select(refund_requests)
    .where(refund_requests.c.order_id == bindparam("order_id", type_=_ID), *IS_OPEN)
    .limit(literal_column("1")),
    into(RefundRequest),
)
_LOCK = statement(
    select(refund_requests, (_expires_at <= func.now()).label("is_expired"))
    .where(refund_requests.c.id == bindparam("request_id", type_=_ID))
    .with_for_update(),
    into(LockedRequest),
)
_DECIDE = statement(
    update(refund_requests)
    .where(refund_requests.c.id == bindparam("request_id", type_=_ID))
    .values(
        state=bindparam("new_state"),
        decided_by=bindparam("operator_id", type_=_ID),
        decided_at=func.now(),
        updated_at=func.now(),
    )
    .returning(refund_requests.c.id),
    lambda record: record[0],
)


async def list_open_requests(
    db: DatabaseSession, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[ListedRequest]:
    """Returns the requests that wait."""
    return await load_page(db, _LIST[sort, cursor.side if cursor else None], cursor, most=most)


async def count_open_requests(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0


async def find_open_request(db: DatabaseSession, order_id: UUID) -> RefundRequest | None:
    return await db.one(_FIND_OPEN, order_id=order_id)


async def lock_request(db: DatabaseSession, request_id: UUID) -> LockedRequest | None:
    return await db.one(_LOCK, request_id=request_id)


async def decide_request(db: DatabaseSession, request_id: UUID, state: str, operator_id: UUID | None) -> None:
    await db.one(_DECIDE, request_id=request_id, new_state=state, operator_id=operator_id)
