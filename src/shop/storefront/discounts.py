"""Coupon code and store credit endpoints."""

from decimal import Decimal

from shop.actions.checkout import coupons, workflow
from shop.actions.context import Context
from shop.models.checkout.inputs import CartCouponInput, CheckoutCreditInput
from shop.storefront.checkout import build_checkout_reply
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.orders import CART
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply


async def apply_code(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    code = read_input(CartCouponInput, request.params).coupon_code
    return await build_checkout_reply(request, ctx, options, await coupons.apply_code(ctx, code))


async def remove_code(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await build_checkout_reply(
        request, ctx, options, await coupons.remove_code(ctx, request.path_params["code"])
    )


async def remove_codes(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, options, await coupons.remove_code(ctx, None))


async def add_credit(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    amount = read_input(CheckoutCreditInput, request.params).amount
    checkout = await workflow.add_store_credit(ctx, amount if isinstance(amount, Decimal) else None)
    return await build_checkout_reply(request, ctx, options, checkout)


async def remove_credit(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, options, await workflow.remove_store_credit(ctx))
