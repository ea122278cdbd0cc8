"""The rules of points, and the one function that changes a balance."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from uuid import UUID

import msgspec

from loyalty.mail import KIND
from loyalty.resource import ACCOUNTS
from loyalty.tables import FIND_ENTRY, INSERT_ENTRY, LOCK_ACCOUNT
from shop.extension import ExtensionContext, major_units, new_id


class LoyaltySettings(msgspec.Struct, frozen=True):
    """The settings: `SHOP_X_LOYALTY_POINTS_PER_UNIT` and `SHOP_X_LOYALTY_POINTS_PER_PAID_UNIT`."""

    points_per_unit: int = 1
    """Points that a customer earns with one unit of the currency, such as one dollar."""
    points_per_paid_unit: int = 100
    """Points that pay one unit of the currency."""


class PointsChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a customer's balance."""

    user_id: UUID
    key: str
    order_number: str
    reason: str
    points: int
    reference: str | None = None
    may_overdraw: bool = True
    has_mail: bool = False
    """Whether the customer gets an e-mail."""


def count_earned(settings: LoyaltySettings, amount: int, currency: str) -> int:
    """Returns the points for an amount, rounded down."""
    return _round(major_units(amount, currency) * settings.points_per_unit, ROUND_FLOOR)


def count_price(settings: LoyaltySettings, amount: int, currency: str) -> int:
    """Returns the points that pay an amount, rounded up."""
    return _round(major_units(amount, currency) * settings.points_per_paid_unit, ROUND_CEILING)


def count_worth(settings: LoyaltySettings, points: int) -> Decimal:
    """Returns the amount that points pay."""
    return Decimal(points) / settings.points_per_paid_unit


def _round(value: Decimal, rounding: str) -> int:
    return int(value.to_integral_value(rounding))


async def change_balance(ctx: ExtensionContext, change: PointsChange) -> bool:
    """Changes a balance once for each key, in one transaction; returns False if there are not enough points."""
    async with ctx.transaction():
        account = await ctx.one(LOCK_ACCOUNT, user_id=change.user_id)
        # After the lock: a concurrent repetition has committed by now.
        if await ctx.one(FIND_ENTRY, key=change.key):
            return True
        balance = (account.balance if account else 0) + change.points
        if balance < 0 and not change.may_overdraw:
            return False
        values = {"user_id": change.user_id, "balance": balance}
        if account is None:
            account_id = await ctx.create(ACCOUNTS, values)
        else:
            account_id = account.id
            await ctx.update(ACCOUNTS, account_id, {"balance": balance})
        columns = {name: getattr(change, name) for name in ("key", "order_number", "reason", "points", "reference")}
        entry_id = new_id()
        await ctx.one(INSERT_ENTRY, entry_id=entry_id, account_id=account_id, **columns)
        customer = await ctx.find_customer(change.user_id) if change.has_mail else None
        if customer:
            # In the transaction of the entry: a repeated event queues no second e-mail.
            await ctx.send_mail(KIND, entry_id, to=customer.email, customer_id=customer.id)
    return True
