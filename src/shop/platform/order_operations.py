"""Operations on orders, shipments, payments and refunds beyond CRUD."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET

from shop.actions.access import oauth
from shop.actions.cart import line_items
from shop.actions.checkout import workflow
from shop.actions.context import Context
from shop.actions.order_edits import cancellations
from shop.actions.orders import operations, resumption, shipments
from shop.actions.payments import completion
from shop.base.errors import Invalid
from shop.base.money import minor_units
from shop.models.checkout.operation_inputs import (
    Completion,
    LocationTransferInput,
    RefundInput,
    ShipmentItemInput,
    ShipmentTracking,
    ShipmentTransferInput,
)
from shop.platform.collection import Collection
from shop.platform.crud import build_document_reply, get_record_id, read_render_options
from shop.platform.operations import Operation, operation_handler, read_operation
from shop.platform.resources.order_parts import PAYMENTS, REFUNDS, SHIPMENTS
from shop.platform.resources.orders import ORDERS
from shop.web.endpoint import Handler, Route
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply

S = TypeVar("S", bound=msgspec.Struct)
ItemOperation = Callable[[Context, UUID, S], Awaitable[UUID | None]]
_WHO = "application: write"
_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422)
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


async def _complete(ctx: Context, order_id: UUID, body: Completion, request: Request) -> None:
    base_url = request.origin(ctx.shared.settings.public_url)
    await completion.complete(ctx, body.consent_token or None, order_id, base_url=base_url)


async def _ship(ctx: Context, shipment_id: UUID, body: ShipmentTracking, _request: Request) -> None:
    tracking = None if body.tracking is UNSET else body.tracking
    await operations.move_shipment(ctx, shipment_id, "ship", tracking=tracking)


async def _add_item(ctx: Context, shipment_id: UUID, body: ShipmentItemInput) -> UUID | None:
    return await shipments.add_item(ctx, shipment_id, body.variant_id, body.quantity or 1)


async def _remove_item(ctx: Context, shipment_id: UUID, body: ShipmentItemInput) -> UUID | None:
    return await shipments.remove_item(ctx, shipment_id, body.variant_id, body.quantity or None)


async def _to_location(ctx: Context, shipment_id: UUID, body: LocationTransferInput) -> UUID | None:
    return await shipments.transfer(
        ctx, shipment_id, body.variant_id, body.quantity or 1, location_id=body.stock_location_id, number=None
    )


async def _to_shipment(ctx: Context, shipment_id: UUID, body: ShipmentTransferInput) -> UUID | None:
    return await shipments.transfer(
        ctx, shipment_id, body.variant_id, body.quantity or 1, location_id=None, number=body.target_shipment_number
    )


def _item_handler(takes: type[S], act: ItemOperation[S], status: int) -> Handler:
    """Returns a handler that shows the shipment with the items, or returns 204 if the shipment was removed."""

    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "write")
        options = read_render_options(request, ctx, SHIPMENTS)
        shipment_id = await get_record_id(ctx, SHIPMENTS, request.path_params["id"])
        body = await read_operation(request, ctx, SHIPMENTS, options, shipment_id, takes)
        target_id = await act(ctx, shipment_id, body)
        if target_id is None:
            return NO_CONTENT
        return await build_document_reply(ctx, SHIPMENTS, options, "id", target_id, status=status)

    return answer


def _item_route(
    name: str, takes: type[S], act: ItemOperation[S], summary: str, status: int = 200, *, may_be_empty: bool = False
) -> Route:
    path, handler = f"/api/v2/platform/shipments/{{id}}/{name}", _item_handler(takes, act, status)
    return Route(
        "PATCH",
        path,
        handler,
        _WHO,
        summary,
        "shipment",
        status,
        _ERRORS,
        takes=takes,
        codes=_CODES,
        may_be_empty=may_be_empty,
    )


async def create_refund(request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "write")
    options = read_render_options(request, ctx, REFUNDS)
    body = await read_operation(request, ctx, REFUNDS, options, None, RefundInput)
    currency = await operations.currency_of_payment(ctx, body.payment_id)
    if currency is None:
        raise Invalid({"payment_id": ["is not a payment"]})
    try:
        amount = minor_units(body.amount, currency)
    except ValueError as error:
        raise Invalid({"amount": [str(error)]}) from None
    refund_id = await operations.refund(ctx, body.payment_id, amount, body.reason.strip())
    return await build_document_reply(ctx, REFUNDS, options, "id", refund_id, status=201)


def operation_route(
    collection: Collection,
    name: str,
    takes: type[S],
    act: Operation[S],
    summary: str,
    codes: Mapping[int, tuple[str, ...]] = _CODES,
) -> Route:
    path, shows = f"/api/v2/platform/{collection.path}/{{id}}/{name}", collection.resource.type
    handler = operation_handler(collection, takes, act)
    return Route("PATCH", path, handler, _WHO, summary, shows, 200, _ERRORS, takes=takes, codes=codes)


def _route(collection: Collection, name: str, act: Callable[[Context, UUID], Awaitable[object]], summary: str) -> Route:
    """Returns the route of an operation without input."""
    return operation_route(
        collection, name, EmptyBody, lambda ctx, record_id, _body, _request: act(ctx, record_id), summary
    )


def _shipment_route(event: str, summary: str) -> Route:
    return _route(SHIPMENTS, event, partial(operations.move_shipment, event=event), summary)


ROUTES = (
    _route(ORDERS, "next", workflow.next_step, "Advance an order to the next checkout step"),
    _route(ORDERS, "advance", workflow.advance, "Advance an order as far as possible"),
    operation_route(ORDERS, "complete", Completion, _complete, "Complete an order"),
    _route(ORDERS, "empty", line_items.empty_cart, "Empty an order"),
    _route(ORDERS, "approve", operations.approve, "Approve an order"),
    _route(ORDERS, "cancel", cancellations.cancel, "Cancel an order"),
    _route(ORDERS, "resume", resumption.resume, "Resume a canceled order"),
    _shipment_route("ready", "Mark a shipment as ready"),
    _shipment_route("pend", "Mark a shipment as pending"),
    operation_route(SHIPMENTS, "ship", ShipmentTracking, _ship, "Ship a shipment: mark it as shipped"),
    _route(SHIPMENTS, "deliver", operations.deliver_shipment, "Mark a shipped shipment as delivered"),
    _shipment_route("cancel", "Cancel a shipment"),
    _shipment_route("resume", "Resume a canceled shipment"),
    _item_route("add_item", ShipmentItemInput, _add_item, "Add items to a shipment of an open order"),
    _item_route(
        "remove_item",
        ShipmentItemInput,
        _remove_item,
        "Remove items from a shipment of an open order",
        may_be_empty=True,
    ),
    _item_route(
        "transfer_to_location", LocationTransferInput, _to_location, "Transfer items to another stock location", 201
    ),
    _item_route("transfer_to_shipment", ShipmentTransferInput, _to_shipment, "Transfer items to another shipment", 201),
    _route(PAYMENTS, "capture", operations.capture, "Capture an authorized payment"),
    _route(PAYMENTS, "void", operations.void, "Void a payment"),
    Route(
        "POST",
        "/api/v2/platform/refunds",
        create_refund,
        _WHO,
        "Create a refund: refund a payment",
        "refund",
        201,
        _ERRORS,
        takes=RefundInput,
        codes=_CODES,
    ),
)
