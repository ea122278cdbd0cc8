"""Coupon code and store credit endpoints."""

import re
from decimal import Decimal
from typing import Any

from shop.actions.checkout import coupons, workflow
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.storefront.checkout import build_checkout_reply
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.sales import CART
from shop.web.reply import Reply
from shop.web.request import Request

_AMOUNT = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,9})?")


async def apply_code(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(
        request, ctx, drawing, await coupons.apply_code(ctx, request.params.get("coupon_code"))
    )


async def remove_code(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(
        request, ctx, drawing, await coupons.remove_code(ctx, request.path_params["code"])
    )


async def remove_codes(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, drawing, await coupons.remove_code(ctx, None))


async def add_credit(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    amount = _amount(request.params.get("amount"))
    return await build_checkout_reply(request, ctx, drawing, await workflow.add_store_credit(ctx, amount))


async def remove_credit(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, drawing, await workflow.remove_store_credit(ctx))


def _amount(value: Any) -> Decimal | None:
    if value is None:
        return None
    text = str(value) if type(value) in {str, int, float} else ""
    if not _AMOUNT.fullmatch(text):
        raise Invalid({"amount": ["must be a decimal number like 19.99"]})
    return Decimal(text)
