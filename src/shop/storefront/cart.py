"""Cart endpoints."""

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
from shop.base.record import Record
from shop.base.tokens import read_order_token
from shop.jsonapi.document import Extras, list_document
from shop.rules.cart.cart_merge import STRATEGIES, Strategy
from shop.rules.cart.line_items import MOST_LINES, NOT_POSITIVE, LineItemInput, parse_quantity
from shop.rules.metadata import METADATA, METADATA_ERROR, is_metadata
from shop.storefront.cart_document import cart_reply, method_link
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.sales import CART, SHIPPING_RATE_ESTIMATE, ShippingRateRecord
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

_NOBODYS = UUID(int=0)


async def create(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    currency = request.params.get("currency")
    metadata = _metadata(request.params)
    order = await cart.open_cart(ctx, currency.upper() if isinstance(currency, str) else None, metadata)
    return await cart_reply(await line_items.load_cart(ctx, order), ctx, drawing, status=201)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await cart_reply(await line_items.load_cart(ctx, await cart.get_cart(ctx)), ctx, drawing)


async def destroy(_request: Request, ctx: Context) -> Reply:
    await cart.abandon_cart(ctx)
    return NO_CONTENT


async def add_item(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    errors: dict[str, list[str]] = {}
    wish = _read_item(request.params, "", errors)
    if wish is None:
        raise Invalid(errors, code="quantity_not_positive" if list(errors) == ["quantity"] else None)
    return await cart_reply(await line_items.add_items(ctx, [wish], is_one=True), ctx, drawing)


async def add_items(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    items = request.params.get("items")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_LINES:
        raise Invalid({"items": [f"must be a list of 1 to {MOST_LINES} objects with a variant_id and a quantity"]})
    errors: dict[str, list[str]] = {}
    wishes = [_read_item(item, f"items.{place}.", errors) for place, item in enumerate(items)]
    if errors:
        raise Invalid(errors)
    return await cart_reply(
        await line_items.add_items(ctx, [wish for wish in wishes if wish], is_one=False), ctx, drawing
    )


async def set_quantity(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    quantity = parse_quantity(request.params.get("quantity"))
    if quantity is None:
        raise Invalid({"quantity": [NOT_POSITIVE]}, code="quantity_not_positive")
    line_item_id = as_uuid(request.params.get("line_item_id"))
    return await cart_reply(await line_items.set_quantity(ctx, line_item_id, quantity), ctx, drawing)


async def remove_line_item(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await cart_reply(await line_items.remove_line(ctx, as_uuid(request.path_params["id"])), ctx, drawing)


async def empty(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await cart_reply(await line_items.empty(ctx), ctx, drawing)


async def change_currency(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    currency = request.params.get("new_currency")
    cart_now = await line_items.change_currency(ctx, currency.upper() if isinstance(currency, str) else "")
    return await cart_reply(cart_now, ctx, drawing)


async def estimate_shipping_rates(request: Request, ctx: Context) -> Reply:
    """Estimate shipping rates to a country. An estimate has no id because it is not stored."""
    drawing = read_render_options(request, ctx, SHIPPING_RATE_ESTIMATE)
    country_iso = request.params.get("country_iso")
    estimates = await views.estimate_rates(ctx, country_iso if isinstance(country_iso, str) and country_iso else None)
    ids = (
        [rate.shipping_method_id for _, rate in estimates] if "shipping_method" in (drawing.query.include or {}) else []
    )
    methods = {method.id: Record(method) for method in await views.list_shipping_methods_of(ctx, ids)}
    rates = [
        Record(
            ShippingRateRecord(**{**msgspec.structs.asdict(rate), "id": None}, currency=currency),
            {"shipping_method": method_link(rate.shipping_method_id, methods)},
        )
        for currency, rate in estimates
    ]
    return document_reply(list_document(SHIPPING_RATE_ESTIMATE, rates, drawing))


async def associate(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    token = request.body_params().get("guest_order_token")  # Never from the URL, which is logged.
    guest_token = read_order_token(ctx.shared.keys, token) if isinstance(token, str) else None
    dry_run = _is_dry_run(request)
    result = await cart.join_carts(ctx, guest_token, _strategy(request), dry_run=dry_run)
    merge_meta: dict[str, Any] = {
        "strategy": result.merge.strategy,
        "dry_run": dry_run,
        "repeated": result.is_repetition,
    }
    if not result.is_repetition:
        # A repeated request omits the outcome, which the first response reported.
        merge_meta |= {
            "survivor": result.merge.survivor,
            "closed": result.closed and result.closed.number,
            "moved": result.merge.moved,
            "capped": result.merge.capped,
        }
    return await cart_reply(result.cart, ctx, drawing, Extras({"merge": merge_meta}))


def _read_item(item: Any, prefix: str, errors: dict[str, list[str]]) -> LineItemInput | None:
    """Read one item; add its errors under `prefix`."""
    if not isinstance(item, dict):
        errors[prefix.rstrip(".")] = ["must be an object"]
        return None
    wrong = {}
    variant_id = as_uuid(item.get("variant_id"))
    if item.get("variant_id") in (None, ""):
        wrong["variant_id"] = "must be given"
    quantity = parse_quantity(item.get("quantity", 1))
    if quantity is None:
        wrong["quantity"] = NOT_POSITIVE
    wrong |= {name: METADATA_ERROR for name in METADATA if name in item and not is_metadata(item[name])}
    errors |= {prefix + name: [text] for name, text in wrong.items()}
    if wrong or quantity is None:
        return None
    # A malformed id matches no variant.
    return LineItemInput(variant_id or _NOBODYS, quantity, *(_given(item, name) for name in METADATA))


def _metadata(params: Mapping[str, Any]) -> dict[str, Any]:
    wrong = {name: [METADATA_ERROR] for name in METADATA if name in params and not is_metadata(params[name])}
    if wrong:
        raise Invalid(wrong)
    return {name: params[name] for name in METADATA if name in params}


def _given(item: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    return cast(dict[str, Any], item[name]) if name in item else None


def _strategy(request: Request) -> Strategy:
    strategy = request.params.get("strategy", "merge")
    if strategy not in STRATEGIES:
        raise Invalid({"strategy": [f"must be one of {', '.join(STRATEGIES)}"]})
    return cast(Strategy, strategy)


def _is_dry_run(request: Request) -> bool:
    """Read `dry_run`. Reject an unreadable value, so that it never merges carts by accident."""
    value = request.params.get("dry_run", False)
    if type(value) is bool or value in ("true", "false", "1", "0"):
        return value in (True, "true", "1")
    raise Invalid({"dry_run": ["must be true or false"]})
