"""Operations on coupon codes and store credits beyond CRUD."""

from uuid import UUID

from msgspec import UNSET

from shop.actions.checkout import coupons, workflow
from shop.actions.context import Context
from shop.models.checkout.operation_inputs import OrderCouponInput, OrderCreditInput, WithdrawalInput
from shop.platform.order_operations import operation_route
from shop.platform.resources.orders import ORDERS
from shop.platform.resources.promotions import STORE_CREDITS
from shop.web.input.request import Request

_CODES = {
    409: ("payment_in_progress",),
    422: (*coupons.REFUSALS, "no_store_credit", "cart_empty"),
}


async def _apply_code(ctx: Context, order_id: UUID, body: OrderCouponInput, _request: Request) -> None:
    await coupons.apply_code(ctx, body.coupon_code, order_id)


async def _use_credit(ctx: Context, order_id: UUID, body: OrderCreditInput, _request: Request) -> None:
    amount = None if body.amount is UNSET or body.amount is None else body.amount
    await workflow.add_store_credit_to(ctx, order_id, amount)


async def _withdraw(ctx: Context, credit_id: UUID, body: WithdrawalInput, _request: Request) -> None:
    await workflow.withdraw_store_credit(ctx, credit_id, body.reason)


ROUTES = (
    operation_route(
        ORDERS, "apply_coupon_code", OrderCouponInput, _apply_code, "Apply a coupon code to an open order", _CODES
    ),
    operation_route(
        ORDERS, "use_store_credit", OrderCreditInput, _use_credit, "Apply store credit to an open order", _CODES
    ),
    operation_route(
        STORE_CREDITS, "withdraw", WithdrawalInput, _withdraw, "Withdraw the remaining amount of a store credit"
    ),
)
