"""The endpoints by which a shopper pays less: codes on the cart, and store credit."""

import re
from decimal import Decimal
from typing import Any

from shop.actions import checkout as actions
from shop.actions import coupons, store_credit
from shop.actions.cart_access import require_owner
from shop.actions.checkout import walk
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.money import minor_units
from shop.storefront.checkout import shown
from shop.storefront.drawing import read_drawing
from shop.storefront.resources.sales import CART
from shop.web.reply import Reply
from shop.web.request import Request

_AMOUNT = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,9})?")


async def apply_code(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await shown(request, ctx, drawing, await coupons.apply_code(ctx, request.params.get("coupon_code")))


async def remove_code(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await shown(request, ctx, drawing, await coupons.remove_code(ctx, request.path_params["code"]))


async def remove_codes(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await shown(request, ctx, drawing, await coupons.remove_code(ctx, None))


async def add_credit(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    async with ctx.transaction() as once:
        checkout = await actions.hold_checkout(ctx)
        require_owner(ctx, checkout.order)
        if not once.done:
            wanted = _amount(request.params.get("amount"), checkout.order.currency)
            checkout, why = await walk(ctx, checkout, upto="payment")
            if why and checkout.order.state == "cart":
                raise why
            checkout = await store_credit.set_aside(ctx, checkout, wanted)
            once.made(checkout.order.id)
    return await shown(request, ctx, drawing, checkout)


async def remove_credit(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    async with ctx.transaction() as once:
        checkout = await actions.hold_checkout(ctx)
        require_owner(ctx, checkout.order)
        if not once.done:
            checkout = await store_credit.put_back(ctx, checkout)
            once.made(checkout.order.id)
    return await shown(request, ctx, drawing, checkout)


def _amount(value: Any, currency: str) -> int | None:
    if value is None:
        return None
    text = str(value) if type(value) in {str, int, float} else ""
    if not _AMOUNT.fullmatch(text):
        raise Invalid({"amount": ["must be a decimal number like 19.99"]})
    try:
        amount = minor_units(Decimal(text), currency)
    except ValueError as wrong:
        raise Invalid({"amount": [str(wrong)]}) from None
    if not amount:
        raise Invalid({"amount": ["must be more than nothing"]})
    return amount
