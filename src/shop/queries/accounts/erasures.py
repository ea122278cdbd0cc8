"""Statements that erase the personal data of a customer: the account, orders in batches, and logs."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, into, statement
from shop.models.access.sessions import login_requests, sessions
from shop.models.access.users import users
from shop.models.accounts.erasures import Erasure, erasures
from shop.models.accounts.merges import merged_addresses
from shop.models.cart.orders import Order, customer_of, line_items, order_lookups, orders
from shop.models.checkout.coupons import adjustments, promotion_uses
from shop.models.checkout.payments import payment_attempts, payment_sources, payments, refunds
from shop.models.checkout.shipments import shipments
from shop.models.checkout.store_credit import store_credit_events, store_credits
from shop.models.customers.addresses import addresses
from shop.models.customers.wishlists import wishlists
from shop.models.drafts.drafts import draft_discounts
from shop.models.events import events
from shop.models.journal import outbox_mails
from shop.models.order_edits.approvals import refund_requests
from shop.models.order_edits.notes import order_notes
from shop.models.webhooks.deliveries import webhook_attempts, webhook_deliveries
from shop.rules.accounts.erasures import REMAINS, personal_attributes

_ID = PG_UUID(as_uuid=True)
_now = func.now()
_user_id = bindparam("user_id", type_=_ID)
_email = bindparam("email", type_=Text())
_most = bindparam("most", type_=BigInteger)


def _first(record: Any) -> Any:
    return record[0]


def _erase(name: str, table: Table, condition: Any, **more: Any) -> Statement[Any]:
    values = {
        column: bindparam(f"new_{column}", value, type_=table.c[column].type) for column, value in REMAINS[name].items()
    }
    return statement(update(table).where(condition).values(**values, **more).returning(table.c.id), _first)


def _delete_mails(*refs: Any) -> Statement[Any]:
    """Deletes e-mails about records, to whichever address they go."""
    conditions = [
        outbox_mails.c.ref_id.in_(ref) if isinstance(ref, Select) else outbox_mails.c.ref_id == ref for ref in refs
    ]
    return statement(delete(outbox_mails).where(or_(*conditions)).returning(outbox_mails.c.id), _first)


_of_orders = any_of("order_ids", _ID)
_ids_of_parts = {
    "shipment": select(shipments.c.id).where(shipments.c.order_id == _of_orders),
    "payment": select(payments.c.id).where(payments.c.order_id == _of_orders),
    "refund": select(refunds.c.id).where(refunds.c.order_id == _of_orders),
}
_note_ids = select(order_notes.c.id).where(order_notes.c.order_id == _of_orders)
_of_batch = [
    # An order can have another address than its account.
    _delete_mails(_of_orders, *_ids_of_parts.values(), _note_ids),
    _erase("order", orders, orders.c.id == _of_orders, token_version=orders.c.token_version + 1, updated_at=_now),
    # Adjustments without a source are discounts that operators gave, with their reasons.
    _erase("adjustment", adjustments, (adjustments.c.order_id == _of_orders) & adjustments.c.source_type.is_(None)),
    _erase("draft_discount", draft_discounts, draft_discounts.c.order_id == _of_orders),
    _erase("order_note", order_notes, order_notes.c.order_id == _of_orders),
    _erase("line_item", line_items, line_items.c.order_id == _of_orders),
    _erase("shipment", shipments, shipments.c.order_id == _of_orders),
    _erase("payment", payments, payments.c.order_id == _of_orders),
    _erase("payment_source", payment_sources, payment_sources.c.order_id == _of_orders, deleted_at=_now),
    _erase("payment_attempt", payment_attempts, payment_attempts.c.order_id == _of_orders),
    _erase("refund", refunds, refunds.c.order_id == _of_orders),
    _erase("refund_request", refund_requests, refund_requests.c.order_id == _of_orders),
    _erase("promotion_use", promotion_uses, promotion_uses.c.order_id == _of_orders),
]
_ERASE_ADDRESSES = _erase("address", addresses, addresses.c.id == any_of("address_ids", _ID), updated_at=_now)
_of_account = [
    _erase("address", addresses, addresses.c.user_id == _user_id, deleted_at=_now, updated_at=_now),
    _erase("payment_source", payment_sources, payment_sources.c.user_id == _user_id, deleted_at=_now),
    _erase("store_credit", store_credits, store_credits.c.user_id == _user_id),
    _erase("store_credit_event", store_credit_events, store_credit_events.c.user_id == _user_id),
    statement(delete(wishlists).where(wishlists.c.user_id == _user_id).returning(wishlists.c.id), _first),
    # Before the sessions: e-mails about sign-ins and a new address can have an earlier recipient.
    _delete_mails(_user_id, select(sessions.c.id).where(sessions.c.user_id == _user_id)),
    statement(delete(sessions).where(sessions.c.user_id == _user_id).returning(sessions.c.id), _first),
]
_of_address = [
    statement(
        delete(outbox_mails).where(func.lower(outbox_mails.c.recipient) == _email).returning(outbox_mails.c.id), _first
    ),
    statement(
        delete(login_requests).where(login_requests.c.email_key == _email).returning(login_requests.c.id), _first
    ),
]
_CLOSE_ACCOUNT = statement(
    update(users)
    .where(users.c.id == bindparam("closed_id", type_=_ID))
    .values(erased_at=_now, disabled_at=func.coalesce(users.c.disabled_at, _now))
    .returning(users.c.id),
    _first,
)
_INSERT = statement(
    insert(erasures)
    .values(id=bindparam("id"), user_id=bindparam("user_id"), email=bindparam("email"), created_at=_now)
    .returning(erasures),
    into(Erasure),
)
_FIND = statement(select(erasures).where(erasures.c.user_id == _user_id), into(Erasure))
_LOCK_NEXT = statement(
    select(erasures)
    .where(erasures.c.ended_at.is_(None), or_(_user_id.is_(None), erasures.c.user_id == _user_id))
    .order_by(erasures.c.created_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True),
    into(Erasure),
)
_SAVE = statement(
    update(erasures)
    .where(erasures.c.id == bindparam("erasure_id", type_=_ID))
    .values(
        last_order_id=bindparam("last_order_id", type_=_ID),
        order_count=erasures.c.order_count + bindparam("count", type_=BigInteger),
    )
    .returning(erasures.c.id),
    _first,
)
_END = statement(
    update(erasures)
    .where(erasures.c.id == bindparam("erasure_id", type_=_ID))
    .values(email=None, ended_at=_now)
    .returning(erasures.c.id),
    _first,
)
_LOCK_OWN = statement(
    select(orders)
    .where(orders.c.user_id == _user_id, orders.c.id > bindparam("after", type_=_ID))
    .order_by(orders.c.id)
    .limit(_most)
    .with_for_update(),
    into(Order),
)
_is_address = (
    literal_column(customer_of("order_lookups.email"), Text())
    == select(literal_column(customer_of("address"), Text()))
    .select_from(select(_email.label("address")).subquery())
    .scalar_subquery(),
    func.lower(order_lookups.c.email) == _email,
    order_lookups.c.is_completed,
)
# Open carts are found only by the address as it was entered, or in lowercase; idle ones are deleted anyway.
_is_open_cart = (~order_lookups.c.is_completed, order_lookups.c.email == any_of("spellings", Text()))
_LOCK_GUEST = [
    statement(
        select(orders)
        .where(
            orders.c.id.in_(select(order_lookups.c.order_id).where(*condition)),
            or_(orders.c.user_id.is_(None), orders.c.user_id == _user_id),
        )
        .order_by(orders.c.id)
        .limit(_most)
        .with_for_update(),
        into(Order),
    )
    for condition in (_is_address, _is_open_cart)
]
# An address that belongs to another account by now is that account's, with the orders of guests.
_MERGED_ADDRESSES = statement(
    select(merged_addresses.c.email_key).where(
        merged_addresses.c.user_id == _user_id,
        ~exists().where(users.c.email_key == merged_addresses.c.email_key, users.c.verified_at.is_not(None)),
    ),
    lambda record: cast(str, record[0]),
)
_DELETE_ADDRESSES = statement(
    delete(merged_addresses).where(merged_addresses.c.user_id == _user_id).returning(merged_addresses.c.id), _first
)


def _forget(subject_type: str, condition: Any) -> Statement[UUID]:
    """Erases the values that events about these records have; `replacement` is what remains of the row."""
    replacement = bindparam("replacement", dict(REMAINS.get(subject_type, {})), type_=JSONB())
    keys = bindparam("keys", personal_attributes(subject_type), type_=ARRAY(Text()))
    return statement(
        update(events)
        .where(events.c.subject_type == literal_column(f"'{subject_type}'"), condition)
        .values(row=events.c.row.op("||")(replacement), before=events.c.before.op("-")(keys))
        .returning(events.c.id),
        lambda record: cast(UUID, record[0]),
    )


_FORGET_ORDERS = [
    _forget("order", events.c.subject_id == _of_orders),
    *(_forget(name, events.c.subject_id.in_(clause)) for name, clause in _ids_of_parts.items()),
]
# As the index has it.
_is_of_user = literal_column("row ->> 'user_id'", Text()) == bindparam("owner", type_=Text())
_FORGET_ACCOUNT = [
    _forget("user", events.c.subject_id == _user_id),
    *(_forget(name, _is_of_user) for name in ("address", "wishlist", "store_credit")),
]
_FORGET_RESPONSES = statement(
    update(webhook_attempts)
    .where(
        exists().where(
            webhook_deliveries.c.id == webhook_attempts.c.delivery_id,
            webhook_deliveries.c.event_id == any_of("event_ids", _ID),
        )
    )
    .values(response=literal_column("''"), error=None)
    .returning(webhook_attempts.c.id),
    _first,
)
_is_unsettled = exists().where(payments.c.order_id == orders.c.id, payments.c.state == literal_column("'processing'"))
_is_to_do = orders.c.completed_at.is_not(None) & orders.c.canceled_at.is_(None)
_is_unfinished = or_(
    _is_to_do & func.coalesce(orders.c.shipment_state != literal_column("'shipped'"), True),
    _is_to_do & orders.c.payment_state.in_([literal_column("'balance_due'"), literal_column("'credit_owed'")]),
    _is_unsettled,
)


def _list_unfinished(is_persons: Any) -> Statement[Order]:
    return statement(select(orders).where(is_persons, _is_unfinished).order_by(orders.c.id).limit(_most), into(Order))


_guest_orders = select(order_lookups.c.order_id).where(*_is_address)
_UNFINISHED = [
    _list_unfinished(orders.c.user_id == _user_id),
    _list_unfinished(orders.c.id.in_(_guest_orders) & orders.c.user_id.is_(None)),
]


async def list_unfinished_orders(db: DatabaseSession, user_id: UUID, email: str, *, most: int) -> list[Order]:
    """Returns orders for which the shop still needs the data: to ship, to pay, to refund, or being paid."""
    own, guest = _UNFINISHED
    unfinished = await db.all(own, user_id=user_id, most=most)
    for address in await list_addresses(db, user_id, email):
        unfinished += await db.all(guest, email=address, most=most)
    return unfinished


async def list_addresses(db: DatabaseSession, user_id: UUID, email: str) -> list[str]:
    """Returns the address of an account, and those of accounts that were merged into it."""
    return [email, *await db.all(_MERGED_ADDRESSES, user_id=user_id)]


async def insert_erasure(db: DatabaseSession, erasure_id: UUID, user_id: UUID, email: str) -> None:
    await db.one(_INSERT, id=erasure_id, user_id=user_id, email=email)


async def find_erasure(db: DatabaseSession, user_id: UUID) -> Erasure | None:
    return await db.one(_FIND, user_id=user_id)


async def lock_next(db: DatabaseSession, user_id: UUID | None) -> Erasure | None:
    """Locks the oldest unfinished erasure, or that of one customer; None if another process works on it."""
    return await db.one(_LOCK_NEXT, user_id=user_id)


async def erase_account_rows(db: DatabaseSession, user_id: UUID) -> None:
    """Erases the rows of an account, but not its own, and marks it as erased."""
    for each in _of_account:
        await db.all(each, user_id=user_id)
    await db.one(_CLOSE_ACCOUNT, closed_id=user_id)


async def erase_address_rows(db: DatabaseSession, email: str) -> None:
    """Deletes e-mails to an address, and its requests for sign-in codes."""
    for each in _of_address:
        await db.all(each, email=email)


async def lock_orders(db: DatabaseSession, erasure: Erasure, *, most: int) -> list[Order]:
    """Locks the next orders to erase: first those of the account, then those of guests with its address."""
    after = erasure.last_order_id or UUID(int=0)
    own = await db.all(_LOCK_OWN, user_id=erasure.user_id, after=after, most=most)
    if own:
        return own
    for address in await list_addresses(db, erasure.user_id, erasure.email or ""):
        values: Mapping[str, Any] = {"email": address, "spellings": [address], "user_id": erasure.user_id}
        for each in _LOCK_GUEST:
            if rows := await db.all(each, **values, most=most):
                return rows
    return []


async def erase_orders(db: DatabaseSession, batch: Sequence[Order]) -> None:
    """Erases orders with their parts and addresses, and the values that events about them have."""
    order_ids = [order.id for order in batch]
    address_ids = {each for order in batch for each in (order.bill_address_id, order.ship_address_id) if each}
    await db.all(_ERASE_ADDRESSES, address_ids=sorted(address_ids))
    for each in _of_batch:
        await db.all(each, order_ids=order_ids)
    event_ids = [event_id for each in _FORGET_ORDERS for event_id in await db.all(each, order_ids=order_ids)]
    await db.all(_FORGET_RESPONSES, event_ids=event_ids)


async def forget_account(db: DatabaseSession, user_id: UUID, remains: Mapping[str, Any]) -> None:
    """Erases the values that events about an account and its records have."""
    values = {"user_id": user_id, "owner": str(user_id)}
    user, *others = _FORGET_ACCOUNT
    event_ids = await db.all(user, **values, replacement=dict(remains))
    for each in others:
        event_ids += await db.all(each, **values)
    await db.all(_FORGET_RESPONSES, event_ids=event_ids)


async def save_progress(db: DatabaseSession, erasure: Erasure, last_order_id: UUID | None, count: int) -> None:
    await db.one(_SAVE, erasure_id=erasure.id, last_order_id=last_order_id, count=count)


async def end_erasure(db: DatabaseSession, erasure: Erasure) -> None:
    """Ends an erasure, which then forgets the addresses."""
    await db.all(_DELETE_ADDRESSES, user_id=erasure.user_id)
    await db.one(_END, erasure_id=erasure.id)
