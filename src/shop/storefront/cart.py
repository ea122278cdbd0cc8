"""The cart's endpoints."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

import msgspec

from shop.actions.cart import carts as cart
from shop.actions.cart import line_items
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.base.loaded import Loaded
from shop.base.tokens import read_order_token
from shop.jsonapi.document import Extras, list_document
from shop.rules.cart.cart_merge import STRATEGIES, Strategy
from shop.rules.cart.line_items import MOST_LINES, NOT_POSITIVE, Wish, read_pieces
from shop.rules.metadata import METADATA, METADATA_ERROR, is_metadata
from shop.storefront.cart_document import cart_reply, method_link
from shop.storefront.drawing import read_drawing
from shop.storefront.resources.sales import CART, SHIPPING_RATE_ESTIMATE, OfferedRate
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

_NOBODYS = UUID(int=0)


async def create(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    currency = request.params.get("currency")
    metadata = _metadata(request.params)
    order = await cart.open_cart(ctx, currency.upper() if isinstance(currency, str) else None, metadata)
    return await cart_reply(await line_items.seen(ctx, order), ctx, drawing, status=201)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await cart_reply(await line_items.seen(ctx, await cart.get_cart(ctx)), ctx, drawing)


async def destroy(_request: Request, ctx: Context) -> Reply:
    await cart.abandon_cart(ctx)
    return NO_CONTENT


async def add_item(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    errors: dict[str, list[str]] = {}
    wish = _wish(request.params, "", errors)
    if wish is None:
        raise Invalid(errors, code="quantity_not_positive" if list(errors) == ["quantity"] else None)
    return await cart_reply(await line_items.add_items(ctx, [wish], is_one=True), ctx, drawing)


async def add_items(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    items = request.params.get("items")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_LINES:
        raise Invalid({"items": [f"must be a list of 1 to {MOST_LINES} objects with a variant_id and a quantity"]})
    errors: dict[str, list[str]] = {}
    wishes = [_wish(item, f"items.{place}.", errors) for place, item in enumerate(items)]
    if errors:
        raise Invalid(errors)
    return await cart_reply(
        await line_items.add_items(ctx, [wish for wish in wishes if wish], is_one=False), ctx, drawing
    )


async def set_quantity(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    quantity = read_pieces(request.params.get("quantity"))
    if quantity is None:
        raise Invalid({"quantity": [NOT_POSITIVE]}, code="quantity_not_positive")
    line_item_id = as_uuid(request.params.get("line_item_id"))
    return await cart_reply(await line_items.set_quantity(ctx, line_item_id, quantity), ctx, drawing)


async def remove_line_item(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await cart_reply(await line_items.remove_line(ctx, as_uuid(request.path_params["id"])), ctx, drawing)


async def empty(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await cart_reply(await line_items.empty(ctx), ctx, drawing)


async def change_currency(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    wanted = request.params.get("new_currency")
    cart_now = await line_items.change_currency(ctx, wanted.upper() if isinstance(wanted, str) else "")
    return await cart_reply(cart_now, ctx, drawing)


async def estimate_shipping_rates(request: Request, ctx: Context) -> Reply:
    """What it would cost to send the cart to a country; an estimate has no id, for nothing of it is kept."""
    drawing = read_drawing(request, ctx, SHIPPING_RATE_ESTIMATE)
    wanted = request.params.get("country_iso")
    found = await views.estimate_rates(ctx, wanted if isinstance(wanted, str) and wanted else None)
    ids = [rate.shipping_method_id for _, rate in found] if "shipping_method" in (drawing.query.include or {}) else []
    methods = {method.id: Loaded(method) for method in await views.list_shipping_methods_of(ctx, ids)}
    rates = [
        Loaded(
            OfferedRate(**{**msgspec.structs.asdict(rate), "id": None}, currency=currency),
            {"shipping_method": method_link(rate.shipping_method_id, methods)},
        )
        for currency, rate in found
    ]
    return document_reply(list_document(SHIPPING_RATE_ESTIMATE, rates, drawing))


async def associate(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    token = request.body_params().get("guest_order_token")  # Never from the address, which stands in logs.
    guest_token = read_order_token(ctx.shared.keys, token) if isinstance(token, str) else None
    dry_run = _is_dry_run(request)
    joined = await cart.join_carts(ctx, guest_token, _strategy(request), dry_run=dry_run)
    told: dict[str, Any] = {
        "strategy": joined.merge.strategy,
        "dry_run": dry_run,
        "repeated": joined.is_repetition,
    }
    if not joined.is_repetition:
        # What became of the two was told when it was done.
        told |= {
            "survivor": joined.merge.survivor,
            "closed": joined.closed and joined.closed.number,
            "moved": joined.merge.moved,
            "capped": joined.merge.capped,
        }
    return await cart_reply(joined.cart, ctx, drawing, Extras({"merge": told}))


def _wish(given: Any, prefix: str, errors: dict[str, list[str]]) -> Wish | None:
    """What is wrong with it is noted under its place."""
    if not isinstance(given, dict):
        errors[prefix.rstrip(".")] = ["must be an object"]
        return None
    wrong = {}
    variant_id = as_uuid(given.get("variant_id"))
    if given.get("variant_id") in (None, ""):
        wrong["variant_id"] = "must be given"
    quantity = read_pieces(given.get("quantity", 1))
    if quantity is None:
        wrong["quantity"] = NOT_POSITIVE
    wrong |= {name: METADATA_ERROR for name in METADATA if name in given and not is_metadata(given[name])}
    errors |= {prefix + name: [text] for name, text in wrong.items()}
    if wrong or quantity is None:
        return None
    # An id that cannot be one is nobody's.
    return Wish(variant_id or _NOBODYS, quantity, *(_given(given, name) for name in METADATA))


def _metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    wrong = {name: [METADATA_ERROR] for name in METADATA if name in given and not is_metadata(given[name])}
    if wrong:
        raise Invalid(wrong)
    return {name: given[name] for name in METADATA if name in given}


def _given(given: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    return cast(dict[str, Any], given[name]) if name in given else None


def _strategy(request: Request) -> Strategy:
    wanted = request.params.get("strategy", "merge")
    if wanted not in STRATEGIES:
        raise Invalid({"strategy": [f"must be one of {', '.join(STRATEGIES)}"]})
    return cast(Strategy, wanted)


def _is_dry_run(request: Request) -> bool:
    """What cannot be read must not join carts that nobody asked to join."""
    wish = request.params.get("dry_run", False)
    if type(wish) is bool or wish in ("true", "false", "1", "0"):
        return wish in (True, "true", "1")
    raise Invalid({"dry_run": ["must be true or false"]})
