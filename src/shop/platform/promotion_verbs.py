"""Operations on coupon codes and store credits beyond CRUD."""

from decimal import Decimal
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.actions.checkout import coupons, workflow
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.texts import is_line
from shop.platform.field_values import operation_params, read_kind
from shop.platform.inputs import Amount
from shop.platform.order_verbs import LONGEST_REASON, verb_route
from shop.platform.resources.promotions import STORE_CREDITS
from shop.platform.resources.sales import ORDERS
from shop.web.request import Request

_CODES = {
    409: ("payment_in_progress",),
    422: (*coupons.REFUSALS, "no_store_credit", "cart_empty"),
}


class OrderCouponInput(msgspec.Struct):
    """A coupon code to apply to an open order."""

    coupon_code: str


class OrderCreditInput(msgspec.Struct):
    """The amount to pay with the customer's store credit; by default as much as possible."""

    amount: Amount | UnsetType = UNSET


class WithdrawalInput(msgspec.Struct):
    """The reason, which the ledger records."""

    reason: Annotated[str, Meta(max_length=LONGEST_REASON)]


async def _apply_code(ctx: Context, order_id: UUID, request: Request) -> None:
    await coupons.apply_code(ctx, operation_params(request, ORDERS).get("coupon_code"), order_id)


async def _use_credit(ctx: Context, order_id: UUID, request: Request) -> None:
    value = operation_params(request, ORDERS).get("amount")
    try:
        amount = None if value is None else read_kind(value, Decimal)
    except ValueError as error:
        raise Invalid({"amount": [str(error)]}) from None
    await workflow.add_store_credit_to(ctx, order_id, amount)


async def _withdraw(ctx: Context, credit_id: UUID, request: Request) -> None:
    reason = operation_params(request, STORE_CREDITS).get("reason")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON or not is_line(reason):
        raise Invalid({"reason": [f"must be given, in one line of at most {LONGEST_REASON} characters"]})
    await workflow.withdraw_store_credit(ctx, credit_id, reason.strip())


ROUTES = (
    verb_route(
        ORDERS, "apply_coupon_code", _apply_code, "Apply a coupon code to an open order", OrderCouponInput, _CODES
    ),
    verb_route(
        ORDERS, "use_store_credit", _use_credit, "Apply store credit to an open order", OrderCreditInput, _CODES
    ),
    verb_route(STORE_CREDITS, "withdraw", _withdraw, "Withdraw what is left of a store credit", WithdrawalInput),
)
