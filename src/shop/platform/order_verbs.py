"""Operations on orders, shipments, payments and refunds beyond CRUD."""

from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.actions.access import oauth
from shop.actions.cart import line_items
from shop.actions.checkout import workflow
from shop.actions.context import Context
from shop.actions.orders import operations, resumption, shipments
from shop.actions.payments import completion
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.base.money import minor_units
from shop.platform.collection import Collection
from shop.platform.crud import build_document_reply, check_body, get_record_id, read_render_options
from shop.platform.field_values import operation_params, read_kind
from shop.platform.inputs import Amount
from shop.platform.resources.order_parts import PAYMENTS, REFUNDS, SHIPMENTS
from shop.platform.resources.sales import ORDERS
from shop.rules.cart.line_items import MOST_PIECES
from shop.web.endpoint import Handler, Route
from shop.web.reply import NO_CONTENT, Reply
from shop.web.request import Request

Verb = Callable[[Context, UUID, Request], Awaitable[Any]]
_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422)
LONGEST_REASON = 255
_CODES = {
    409: ("total_changed", "payment_in_progress", "payment_needs_action"),
    422: (
        "illegal_transition",
        "cart_empty",
        "no_price_in_currency",
        "email_missing",
        "address_missing",
        "no_shipping_rate",
        "payment_missing",
        "payment_refused",
        "out_of_stock",
        "order_not_found",
        "variant_not_found",
        "shipment_not_found",
        "stock_location_not_found",
        "coupon_used_up",
        "no_store_credit",
    ),
}


class EmptyBody(msgspec.Struct):
    """An empty object, or no body at all."""


class Completion(msgspec.Struct):
    """Consent to a total that changed since it was quoted."""

    consent_token: Annotated[str, Meta(description="The token from the error `total_changed`.")] | UnsetType = UNSET


class ShipmentTracking(msgspec.Struct):
    """The tracking number, if there is one."""

    tracking: Annotated[str, Meta(max_length=255)] | UnsetType = UNSET


class ShipmentItemInput(msgspec.Struct):
    """A variant and its quantity."""

    variant_id: UUID
    quantity: Annotated[int, Meta(ge=1, le=MOST_PIECES)] | UnsetType = UNSET


class LocationTransferInput(ShipmentItemInput, kw_only=True):
    """The items to transfer, and the stock location to ship them from."""

    stock_location_id: UUID


class ShipmentTransferInput(ShipmentItemInput, kw_only=True):
    """The items to transfer, and the target shipment of the same order."""

    target_shipment_number: str


class RefundInput(msgspec.Struct):
    """The amount to refund of a payment, and the reason."""

    payment_id: UUID
    amount: Annotated[Amount, Meta(description="At most the captured amount that is not refunded yet.")]
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)]


async def _next(ctx: Context, order_id: UUID, _request: Request) -> None:
    await workflow.next_step(ctx, order_id)


async def _advance(ctx: Context, order_id: UUID, _request: Request) -> None:
    await workflow.advance(ctx, order_id)


async def _complete(ctx: Context, order_id: UUID, request: Request) -> None:
    consent = operation_params(request, ORDERS).get("consent_token")
    base_url = request.origin(ctx.shared.settings.public_url)
    await completion.complete(ctx, consent if isinstance(consent, str) else None, order_id, base_url=base_url)


def _transition(event: str) -> Verb:
    async def move(ctx: Context, shipment_id: UUID, request: Request) -> None:
        tracking = operation_params(request, SHIPMENTS).get("tracking") if event == "ship" else None
        is_line = isinstance(tracking, str) and len(tracking) <= LONGEST_REASON and tracking.isprintable()
        if tracking is not None and not is_line:
            raise Invalid({"tracking": [f"must be one line of at most {LONGEST_REASON} characters"]})
        await operations.move_shipment(ctx, shipment_id, event, tracking=tracking)

    return move


def _variant(members: Mapping[str, Any]) -> UUID:
    variant_id = as_uuid(members.get("variant_id"))
    if variant_id is None:
        raise Invalid({"variant_id": ["must be the id of a variant"]}, code="variant_not_found")
    return variant_id


def _quantity(members: Mapping[str, Any], default: int | None) -> int | None:
    value = members.get("quantity", default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if value is not None and (type(value) is not int or not 0 < value <= MOST_PIECES):
        raise Invalid({"quantity": [f"must be a whole number from 1 to {MOST_PIECES}"]})
    return value


async def _add_item(ctx: Context, shipment_id: UUID, members: Mapping[str, Any]) -> UUID | None:
    return await shipments.add_item(ctx, shipment_id, _variant(members), _quantity(members, 1) or 1)


async def _remove_item(ctx: Context, shipment_id: UUID, members: Mapping[str, Any]) -> UUID | None:
    return await shipments.remove_item(ctx, shipment_id, _variant(members), _quantity(members, None))


async def _to_location(ctx: Context, shipment_id: UUID, members: Mapping[str, Any]) -> UUID | None:
    place_id, pieces = as_uuid(members.get("stock_location_id")), _quantity(members, 1) or 1
    return await shipments.transfer(ctx, shipment_id, _variant(members), pieces, location_id=place_id, number=None)


async def _to_shipment(ctx: Context, shipment_id: UUID, members: Mapping[str, Any]) -> UUID | None:
    number, pieces = str(members.get("target_shipment_number")), _quantity(members, 1) or 1
    return await shipments.transfer(ctx, shipment_id, _variant(members), pieces, location_id=None, number=number)


def _item_handler(
    act: Callable[[Context, UUID, Mapping[str, Any]], Awaitable[UUID | None]], takes: Any, status: int
) -> Handler:
    """Return a handler that shows the shipment that has the items afterwards, or 204 if the shipment was removed."""

    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        drawing = read_render_options(request, ctx, SHIPMENTS)
        shipment_id = await get_record_id(ctx, SHIPMENTS, request.path_params["id"])
        await check_body(request, ctx, SHIPMENTS, drawing, shipment_id, takes)
        target_id = await act(ctx, shipment_id, operation_params(request, SHIPMENTS))
        if target_id is None:
            return NO_CONTENT
        reply = await build_document_reply(ctx, SHIPMENTS, drawing, "id", target_id)
        return Reply(status, reply.body, reply.headers)

    return answer


def _item_route(name: str, act: Any, summary: str, takes: Any, status: int = 200) -> Route:
    address = f"/api/v2/platform/shipments/{{id}}/{name}"
    handler, who = _item_handler(act, takes, status), "application: write"
    options: dict[str, Any] = {"takes": takes, "codes": _CODES, "may_be_empty": act is _remove_item}
    return Route("PATCH", address, handler, who, summary, "shipment", status, _ERRORS, **options)


def _handler(collection: Collection, verb: Verb, takes: Any) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        drawing = read_render_options(request, ctx, collection)
        record_id = await get_record_id(ctx, collection, request.path_params["id"])
        await check_body(request, ctx, collection, drawing, record_id, takes)
        await verb(ctx, record_id, request)
        return await build_document_reply(ctx, collection, drawing, "id", record_id)

    return answer


async def create_refund(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_render_options(request, ctx, REFUNDS)
    await check_body(request, ctx, REFUNDS, drawing, None, RefundInput)
    members = operation_params(request, REFUNDS)
    payment_id, reason = as_uuid(members.get("payment_id")), members.get("reason")
    currency = await operations.currency_of_payment(ctx, payment_id) if payment_id else None
    if payment_id is None or currency is None:
        raise Invalid({"payment_id": ["is not a payment"]})
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        raise Invalid({"reason": [f"must be given, in at most {LONGEST_REASON} characters"]})
    try:
        amount = minor_units(read_kind(members.get("amount"), Decimal), currency)
    except ValueError as error:
        raise Invalid({"amount": [str(error)]}) from None
    refund_id = await operations.refund(ctx, payment_id, amount, reason.strip())
    reply = await build_document_reply(ctx, REFUNDS, drawing, "id", refund_id)
    return Reply(201, reply.body, reply.headers)


def verb_route(
    collection: Collection,
    name: str,
    verb: Verb,
    summary: str,
    takes: Any = EmptyBody,
    codes: Mapping[int, tuple[str, ...]] = _CODES,
) -> Route:
    address = f"/api/v2/platform/{collection.path}/{{id}}/{name}"
    shows = collection.resource.type
    handler = _handler(collection, verb, takes)
    who = "application: write"
    return Route("PATCH", address, handler, who, summary, shows, 200, _ERRORS, takes=takes, codes=codes)


ROUTES = (
    verb_route(ORDERS, "next", _next, "Advance an order to the next checkout step"),
    verb_route(ORDERS, "advance", _advance, "Advance an order as far as possible"),
    verb_route(ORDERS, "complete", _complete, "Complete an order", Completion),
    verb_route(ORDERS, "empty", lambda ctx, order_id, _: line_items.empty(ctx, order_id), "Empty an order"),
    verb_route(ORDERS, "approve", lambda ctx, order_id, _: operations.approve(ctx, order_id), "Approve an order"),
    verb_route(ORDERS, "cancel", lambda ctx, order_id, _: operations.cancel(ctx, order_id), "Cancel an order"),
    verb_route(ORDERS, "resume", lambda ctx, order_id, _: resumption.resume(ctx, order_id), "Resume a canceled order"),
    verb_route(SHIPMENTS, "ready", _transition("ready"), "Mark a shipment as ready"),
    verb_route(SHIPMENTS, "pend", _transition("pend"), "Mark a shipment as pending"),
    verb_route(SHIPMENTS, "ship", _transition("ship"), "Ship a shipment: mark it as shipped", ShipmentTracking),
    verb_route(SHIPMENTS, "cancel", _transition("cancel"), "Cancel a shipment"),
    verb_route(SHIPMENTS, "resume", _transition("resume"), "Resume a canceled shipment"),
    _item_route("add_item", _add_item, "Add items to a shipment of an open order", ShipmentItemInput),
    _item_route("remove_item", _remove_item, "Remove items from a shipment of an open order", ShipmentItemInput),
    _item_route(
        "transfer_to_location", _to_location, "Transfer items to another stock location", LocationTransferInput, 201
    ),
    _item_route("transfer_to_shipment", _to_shipment, "Transfer items to another shipment", ShipmentTransferInput, 201),
    verb_route(
        PAYMENTS,
        "capture",
        lambda ctx, payment_id, _: operations.capture(ctx, payment_id),
        "Capture an authorized payment",
    ),
    verb_route(PAYMENTS, "void", lambda ctx, payment_id, _: operations.void(ctx, payment_id), "Void a payment"),
    Route(
        "POST",
        "/api/v2/platform/refunds",
        create_refund,
        "application: write",
        "Create a refund: refund a payment",
        "refund",
        201,
        _ERRORS,
        takes=RefundInput,
        codes=_CODES,
    ),
)
