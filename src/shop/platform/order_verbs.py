"""What machines do with orders, shipments and payments beyond the five addresses of each."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.actions import checkout, completion, lines, oauth, order_desk
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.base.money import minor_units
from shop.platform.collection import Collection
from shop.platform.crud import document_of, found_id, read_drawing
from shop.platform.resources.sales import ORDERS
from shop.platform.resources.sold import PAYMENTS, REFUNDS, SHIPMENTS
from shop.platform.values import read_kind
from shop.web.endpoint import Handler, Route
from shop.web.reply import Reply
from shop.web.request import Request

Verb = Callable[[Context, UUID, Request], Awaitable[Any]]
_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422)
LONGEST_REASON = 255
_CODES = {
    409: ("total_changed", "payment_in_progress"),
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
    ),
}


class Unsaid(msgspec.Struct):
    """An empty object, or no body at all."""


class Sent(msgspec.Struct):
    """The number of the parcel, if there is one."""

    tracking: Annotated[str, Meta(max_length=255)] | UnsetType = UNSET


class NewRefund(msgspec.Struct):
    """Money to be given back of a payment, and why."""

    payment_id: UUID
    amount: Annotated[Decimal, Meta(description="At most what was taken and not given back.")]
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)]


async def _next(ctx: Context, order_id: UUID, _request: Request) -> None:
    async with ctx.db.transaction():
        await checkout.step(ctx, await checkout.hold_checkout(ctx, order_id))


async def _advance(ctx: Context, order_id: UUID, _request: Request) -> None:
    async with ctx.db.transaction():
        await checkout.walk(ctx, await checkout.hold_checkout(ctx, order_id))


async def _complete(ctx: Context, order_id: UUID, request: Request) -> None:
    consent = request.params.get("consent_token")
    await completion.complete(ctx, consent if isinstance(consent, str) else None, order_id)


def _moving(event: str) -> Verb:
    async def move(ctx: Context, shipment_id: UUID, request: Request) -> None:
        given = request.params.get("tracking")
        tracking = given if isinstance(given, str) and event == "ship" else None
        if tracking is not None and (len(tracking) > LONGEST_REASON or not tracking.isprintable()):
            raise Invalid({"tracking": [f"must be one line of at most {LONGEST_REASON} characters"]})
        await order_desk.move_shipment(ctx, shipment_id, event, tracking=tracking)

    return move


def _handler(collection: Collection, verb: Verb) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        drawing = read_drawing(request, ctx, collection)
        record_id = await found_id(ctx, collection, request.path_params["id"])
        await verb(ctx, record_id, request)
        return await document_of(ctx, collection, drawing, "id", record_id)

    return answer


async def create_refund(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_drawing(request, ctx, REFUNDS)
    wrapped = request.params.get("refund")
    given = wrapped if isinstance(wrapped, dict) else request.params
    payment_id, reason = as_uuid(given.get("payment_id")), given.get("reason")
    currency = await order_desk.currency_of_payment(ctx, payment_id) if payment_id else None
    if payment_id is None or currency is None:
        raise Invalid({"payment_id": ["is not a payment"]})
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        raise Invalid({"reason": [f"must be given, in at most {LONGEST_REASON} characters"]})
    try:
        amount = minor_units(read_kind(given.get("amount"), Decimal), currency)
    except ValueError as error:
        raise Invalid({"amount": [str(error)]}) from None
    refund_id = await order_desk.refund(ctx, payment_id, amount, reason.strip())
    reply = await document_of(ctx, REFUNDS, drawing, "id", refund_id)
    return Reply(201, reply.body, reply.headers)


def _route(collection: Collection, name: str, verb: Verb, summary: str, takes: Any = Unsaid) -> Route:
    address = f"/api/v2/platform/{collection.path}/{{id}}/{name}"
    shows = collection.resource.type
    handler = _handler(collection, verb)
    who = "application: write"
    return Route("PATCH", address, handler, who, summary, shows, 200, _ERRORS, takes=takes, codes=_CODES)


ROUTES = (
    _route(ORDERS, "next", _next, "One step on"),
    _route(ORDERS, "advance", _advance, "As many steps on as can be taken"),
    _route(ORDERS, "complete", _complete, "Complete an order"),
    _route(ORDERS, "empty", lambda ctx, order_id, _: lines.empty(ctx, order_id), "Take everything out of an order"),
    _route(ORDERS, "approve", lambda ctx, order_id, _: order_desk.approve(ctx, order_id), "Find an order good"),
    _route(ORDERS, "cancel", lambda ctx, order_id, _: order_desk.cancel(ctx, order_id), "Cancel an order"),
    _route(ORDERS, "resume", lambda ctx, order_id, _: order_desk.resume(ctx, order_id), "Resume a canceled order"),
    _route(SHIPMENTS, "ready", _moving("ready"), "Say that a shipment can be sent"),
    _route(SHIPMENTS, "pend", _moving("pend"), "Say that a shipment must wait"),
    _route(SHIPMENTS, "ship", _moving("ship"), "Say that a shipment was sent", Sent),
    _route(SHIPMENTS, "cancel", _moving("cancel"), "Cancel a shipment"),
    _route(SHIPMENTS, "resume", _moving("resume"), "Resume a canceled shipment"),
    _route(
        PAYMENTS, "capture", lambda ctx, payment_id, _: order_desk.capture(ctx, payment_id), "Take what was authorised"
    ),
    _route(PAYMENTS, "void", lambda ctx, payment_id, _: order_desk.void(ctx, payment_id), "Undo a payment"),
    Route(
        "POST",
        "/api/v2/platform/refunds",
        create_refund,
        "application: write",
        "Give money back",
        "refund",
        201,
        _ERRORS,
        takes=NewRefund,
        codes=_CODES,
    ),
)
