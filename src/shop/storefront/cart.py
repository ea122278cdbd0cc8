"""The cart's endpoints."""

from collections.abc import Mapping
from typing import cast

from shop.actions import account, cart
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.loaded import Link, Loaded, Named
from shop.base.tokens import cart_of_order_token
from shop.jsonapi.document import NO_EXTRAS, Drawing, Extras, document
from shop.models.orders import Order
from shop.rules.merging import STRATEGIES, Strategy
from shop.storefront.drawing import read_drawing, user_links
from shop.storefront.resources.sales import CART, UNLINKED
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request


async def create(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    currency = request.params.get("currency")
    order = await cart.open_cart(ctx, currency.upper() if isinstance(currency, str) else None)
    return document_reply(await _document(order, ctx, drawing), 201)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return document_reply(await _document(await cart.get_cart(ctx), ctx, drawing))


async def destroy(_request: Request, ctx: Context) -> Reply:
    await cart.abandon_cart(ctx)
    return NO_CONTENT


async def associate(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    token = request.body_params().get("guest_order_token")  # Never from the address, which stands in logs.
    guest_cart_id = cart_of_order_token(ctx.shared.keys, token) if isinstance(token, str) else None
    joined = await cart.join_carts(ctx, guest_cart_id, _strategy(request), dry_run=_is_true(request, "dry_run"))
    told = {
        "strategy": joined.merge.strategy,
        "survivor": joined.merge.survivor,
        "closed": joined.closed and joined.closed.number,
        "moved": joined.merge.moved,
        "capped": joined.merge.capped,
        "dry_run": _is_true(request, "dry_run"),
        "repeated": joined.is_repetition,
    }
    return document_reply(await _document(joined.cart, ctx, drawing, Extras({"merge": told})))


def _strategy(request: Request) -> Strategy:
    wanted = request.params.get("strategy", "merge")
    if wanted not in STRATEGIES:
        raise Invalid({"strategy": [f"must be one of {', '.join(STRATEGIES)}"]})
    return cast(Strategy, wanted)


def _is_true(request: Request, name: str) -> bool:
    return request.params.get(name) in (True, "true", "1")


async def _document(order: Order, ctx: Context, drawing: Drawing, extras: Extras = NO_EXTRAS) -> bytes:
    return document(CART, Loaded(order, await _links(order, ctx, drawing)), drawing, extras)


async def _links(order: Order, ctx: Context, drawing: Drawing) -> Mapping[str, Link]:
    """The owner stands as a link; who they are is read only when it was asked for."""
    if order.user_id is None:
        return UNLINKED
    if "user" not in (drawing.query.include or {}):
        return {**UNLINKED, "user": Loaded(Named(order.user_id))}
    if ctx.claim.bearer is None or (await ctx.signed_in()).user.id != order.user_id:
        return UNLINKED  # The token opens the cart, and not who its owner is and where they live.
    user, addresses = await account.get_user(ctx, order.user_id)
    return {**UNLINKED, "user": Loaded(user, user_links(user, addresses))}
