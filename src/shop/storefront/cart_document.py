"""How a cart is drawn: the order with its lines, and whatever else of it was asked for; what must be said stands in
`meta`.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions import account, browse
from shop.actions.context import Context
from shop.actions.lines import Cart, pricing_of
from shop.base.loaded import Link, Loaded, Named
from shop.base.money import currency_digits, wire_decimal
from shop.jsonapi.document import NO_EXTRAS, Drawing, Extras, document
from shop.models.orders import Order
from shop.rules.lines import Notice
from shop.storefront.drawing import user_links
from shop.storefront.resources.sales import CART, UNLINKED
from shop.web.reply import Reply, document_reply

Tree = Mapping[str, Any]


async def cart_reply(
    cart: Cart, ctx: Context, drawing: Drawing, extras: Extras = NO_EXTRAS, *, status: int = 200
) -> Reply:
    if cart.warnings:
        told = [_told(found, cart.order.currency) for found in cart.warnings]
        extras = Extras({**(extras.meta or {}), "warnings": told}, extras.links)
    return document_reply(document(CART, await loaded_cart(cart, ctx, drawing), drawing, extras), status)


async def loaded_cart(cart: Cart, ctx: Context, drawing: Drawing) -> Loaded:
    include = drawing.query.include or {}
    links = UNLINKED
    if cart.lines:
        links = {**links, **await _line_links(cart, ctx, include)}
    if cart.order.user_id is not None:
        links = {**links, "user": await _user_link(cart.order, ctx, include)}
    return Loaded(cart.order, links)


async def _line_links(cart: Cart, ctx: Context, include: Tree) -> Mapping[str, Link]:
    ids = list(dict.fromkeys(line.variant_id for line in cart.lines))
    of_lines = include.get("line_items", {})
    wanted = [tree for tree in (include.get("variants"), of_lines.get("variant")) if tree is not None]
    variants: Mapping[UUID, Loaded] = {variant_id: Loaded(Named(variant_id)) for variant_id in ids}
    if wanted:
        found = await browse.load_variants(ctx, ids, browse.merged(wanted), await pricing_of(ctx, cart.order))
        variants = {**variants, **found}
    return {
        "line_items": [Loaded(line, {"variant": variants[line.variant_id]}) for line in cart.lines],
        "variants": [variants[variant_id] for variant_id in ids],
    }


async def _user_link(order: Order, ctx: Context, include: Tree) -> Link:
    """The owner stands as a link; who they are is read only when it was asked for."""
    if order.user_id is None:
        return None
    if "user" not in include:
        return Loaded(Named(order.user_id))
    if ctx.claim.bearer is None or (await ctx.signed_in()).user.id != order.user_id:
        return None  # The token opens the cart, and not who its owner is and where they live.
    user, addresses = await account.get_user(ctx, order.user_id)
    return Loaded(user, user_links(user, addresses))


def _told(notice: Notice, currency: str) -> Mapping[str, Any]:
    amounts = {
        name: wire_decimal(amount, currency_digits(currency))
        for name, amount in (("quoted", notice.quoted), ("now", notice.now))
        if amount is not None
    }
    available = {} if notice.available is None else {"available": notice.available}
    line = {"code": notice.code, "line_item_id": notice.line_item_id, "message": notice.sentence}
    return {**line, **amounts, **available}
