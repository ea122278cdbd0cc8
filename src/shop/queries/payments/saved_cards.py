"""Statements for payment sources and saved cards."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Text, and_, bindparam, case, exists, extract, func, or_, select, update
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.cart.orders import orders
from shop.models.checkout.payments import (
    STORE_CREDIT_METHOD,
    CreditCard,
    payment_attempts,
    payment_methods,
    payment_sources,
    payments,
)
from shop.rules.checkout.payments import INVALID_STATES

_ID = PG_UUID(as_uuid=True)


def _is_usable(source: Any, method: Any) -> tuple[Any, ...]:
    """Returns the conditions for a saved card: not deleted or expired, and of a method offered to shoppers."""
    this_month = extract("year", func.now()) * 12 + extract("month", func.now())
    return (
        source.c.used_at.is_not(None),
        source.c.deleted_at.is_(None),
        or_(source.c.year.is_(None), source.c.month.is_(None), source.c.year * 12 + source.c.month >= this_month),
        method.c.deleted_at.is_(None),
        method.c.active,
        method.c.display_on != "back_end",
    )


_other, _its_method = payment_sources.alias("other"), payment_methods.alias("its_method")
_default = (
    select(_other.c.id)
    .join(_its_method, _its_method.c.id == _other.c.payment_method_id)
    .where(_other.c.user_id == payment_sources.c.user_id, *_is_usable(_other, _its_method))
    .order_by(_other.c.used_at.desc(), _other.c.id.desc())
    .limit(1)
    .correlate(payment_sources)
    .scalar_subquery()
)
_cards = select(payment_sources, func.coalesce(payment_sources.c.id == _default, False).label("is_default"))
_SOURCES_OF = statement(_cards.where(payment_sources.c.id == any_of("ids", _ID)), into(CreditCard))
_saved_cards = _cards.join(payment_methods, payment_methods.c.id == payment_sources.c.payment_method_id).where(
    payment_sources.c.user_id == bindparam("user_id", type_=_ID), *_is_usable(payment_sources, payment_methods)
)
_CARDS = statement(
    _saved_cards.order_by(payment_sources.c.used_at.desc(), payment_sources.c.id.desc()), into(CreditCard)
)
_CARD = statement(_saved_cards.where(payment_sources.c.id == bindparam("id", type_=_ID)), into(CreditCard))
_CUSTOMER = statement(
    select(payment_sources.c.customer_reference)
    .join(payment_methods, payment_methods.c.id == payment_sources.c.payment_method_id)
    .where(
        payment_sources.c.user_id == bindparam("user_id", type_=_ID),
        payment_sources.c.customer_reference.is_not(None),
        payment_methods.c.type == bindparam("type", type_=Text()),
    )
    .order_by(payment_sources.c.used_at.desc().nulls_last())
    .limit(1),
    lambda record: cast(str, record[0]),
)
_paid_with = (
    select(payments.c.source_id)
    .join(payment_attempts, payment_attempts.c.payment_id == payments.c.id)
    .where(payment_attempts.c.id == bindparam("attempt_id", type_=_ID))
    .scalar_subquery()
)
_TEXT_COLUMNS = ("reference", "customer_reference", "cc_type", "last_digits")
_NUMBERS = ("month", "year")
_SAVE = statement(
    update(payment_sources)
    .where(payment_sources.c.id == _paid_with, payment_sources.c.deleted_at.is_(None))
    .values(
        **{
            name: func.coalesce(bindparam(f"new_{name}", type_=kind), payment_sources.c[name])
            for names, kind in ((_TEXT_COLUMNS, Text()), (_NUMBERS, BigInteger()))
            for name in names
        },
        used_at=case(
            (bindparam("is_saved", type_=Boolean()) & payment_sources.c.user_id.is_not(None), func.now()),
            else_=payment_sources.c.used_at,
        ),
        updated_at=func.now(),
    )
    .returning(payment_sources.c.id),
    lambda record: cast(UUID, record[0]),
)
_SOFT_DELETE = statement(
    update(payment_sources)
    .where(
        payment_sources.c.id == bindparam("card_id", type_=_ID),
        payment_sources.c.user_id == bindparam("of_user", type_=_ID),
        payment_sources.c.used_at.is_not(None),
        payment_sources.c.deleted_at.is_(None),
    )
    .values(deleted_at=func.now(), updated_at=func.now())
    .returning(payment_sources.c.reference, payment_sources.c.payment_method_id),
    lambda record: (cast("str | None", record[0]), cast(UUID, record[1])),
)

_is_valid = and_(*(payments.c.state != state for state in sorted(INVALID_STATES)))
# Store credit, or a card that belongs to an account; cards entered by others belong to no account.
_is_owners = or_(
    payments.c.payment_method_id == STORE_CREDIT_METHOD,
    exists()
    .where(payment_sources.c.id == payments.c.source_id, payment_sources.c.user_id.is_not(None))
    .correlate(payments),
)
_HAS_OWNER_PAYMENT = statement(
    select(payments.c.id)
    .where(payments.c.order_id == bindparam("order_id", type_=_ID), _is_valid, _is_owners)
    .limit(1),
    lambda record: cast(UUID, record[0]),
)
_invalidate_payments = (
    update(payments)
    .where(payments.c.order_id == bindparam("of_order", type_=_ID), payments.c.state == "checkout", _is_owners)
    .values(state="invalid", updated_at=func.now())
    .returning(payments.c.id)
    .cte("dropped")
)
_DROP_OWNER_PAYMENTS = statement(
    update(orders)
    .where(orders.c.id == bindparam("of_order", type_=_ID), exists(select(_invalidate_payments.c.id)))
    .values(store_credit_total=0, updated_at=func.now())
    .returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)


async def has_owner_payment(db: DatabaseSession, order_id: UUID) -> bool:
    """Returns whether an order has a valid payment with its owner's card or store credit."""
    return await db.one(_HAS_OWNER_PAYMENT, order_id=order_id) is not None


async def drop_owner_payments(db: DatabaseSession, order_id: UUID) -> bool:
    """Invalidates open payments with the owner's card or store credit; returns whether there were any."""
    return await db.one(_DROP_OWNER_PAYMENTS, of_order=order_id) is not None


async def list_sources_of(db: DatabaseSession, ids: list[UUID]) -> dict[UUID, CreditCard]:
    return {source.id: source for source in await db.all(_SOURCES_OF, ids=ids)} if ids else {}


async def list_cards(db: DatabaseSession, user_id: UUID) -> list[CreditCard]:
    """Returns the usable saved cards of a user, the last used first."""
    return await db.all(_CARDS, user_id=user_id)


async def find_card(db: DatabaseSession, user_id: UUID, card_id: UUID) -> CreditCard | None:
    return await db.one(_CARD, user_id=user_id, id=card_id)


async def find_customer(db: DatabaseSession, user_id: UUID, provider_type: str) -> str | None:
    """Returns the provider's customer reference of a user, from any of the user's cards."""
    return await db.one(_CUSTOMER, user_id=user_id, type=provider_type)


async def save_card_details(db: DatabaseSession, attempt_id: UUID, *, is_saved: bool, details: dict[str, Any]) -> None:
    """Saves the provider's details of the card used in an attempt; missing details stay unchanged."""
    values = {f"new_{name}": details.get(name) for name in (*_TEXT_COLUMNS, *_NUMBERS)}
    await db.one(_SAVE, attempt_id=attempt_id, is_saved=is_saved, **values)


async def soft_delete_card(db: DatabaseSession, user_id: UUID, card_id: UUID) -> tuple[str | None, UUID] | None:
    """Deletes a saved card; returns its provider reference and payment method, or `None` if there is no such card."""
    return await db.one(_SOFT_DELETE, card_id=card_id, of_user=user_id)
