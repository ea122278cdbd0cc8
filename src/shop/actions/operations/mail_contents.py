"""Loads what each e-mail is about, when it is sent or viewed: the record, the variables of its texts, and its link."""

import math
from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from babel import Locale
from babel.dates import format_datetime

from shop.actions.cart.orders import load_checkout
from shop.actions.context import Context
from shop.actions.operations.mail_layout import MailContent
from shop.actions.operations.order_mail import describe_order
from shop.actions.orders.status import build_link
from shop.actions.payments.balance import find_amount_to_pay
from shop.base.money import money_text
from shop.base.times import in_zone, name_offset
from shop.gateways.mail import MailFile
from shop.models.access.sessions import LoginRequest
from shop.models.cart.orders import Order
from shop.models.setup.shop import Shop
from shop.queries import records
from shop.queries.access import login as login_queries
from shop.queries.access import sessions as session_queries
from shop.queries.cart import line_items, orders
from shop.queries.customers import restocks
from shop.queries.order_edits.notes import find_note
from shop.queries.orders.records import REFUNDS, SHIPMENTS
from shop.queries.payments import payments
from shop.rules import mail_events as kinds
from shop.rules.access.codes import login_code, shown_code
from shop.rules.access.devices import device_kind
from shop.rules.mail.definitions import CODE, MESSAGE, SIGN_IN_MAIL
from shop.rules.orders.links import LinkPurpose

_Loader = Callable[[Context, UUID, str | None], Awaitable[MailContent | None]]


async def load_content(ctx: Context, kind: str, ref_id: UUID, base_url: str | None) -> MailContent | None:
    """Returns the content of an e-mail; None if the record that it is about no longer exists. Without a website, there
    are no links.
    """
    has_website = base_url is not None and ctx.shared.settings.website != "off"
    return await _LOADERS[kind](ctx, ref_id, base_url.rstrip("/") if base_url and has_website else None)


def add_loader(kind: str, loader: _Loader) -> None:
    """Adds the loader of an e-mail of an extension."""
    _LOADERS[kind] = loader


def format_moment(at: datetime, shop: Shop) -> str:
    """Formats a time as the shop's locale does, in the shop's time zone."""
    local_time = in_zone(at, shop.zone)
    # Without its zone, which Babel would read from data of its own; the name of the offset follows.
    text = format_datetime(local_time.replace(tzinfo=None), "medium", locale=Locale.parse(shop.default_locale, sep="-"))
    return f"{text} {name_offset(local_time)}"


async def _load_login_code(ctx: Context, ref_id: UUID, _base_url: str | None) -> MailContent | None:
    request, keys = await login_queries.find_request(ctx.db, ref_id), ctx.shared.keys
    if request is None or request.key_id not in keys:
        return None
    code = login_code(keys, request.key_id, request.id, request.nonce, is_long=request.is_long)
    minutes = math.ceil((request.expires_at - request.created_at).total_seconds() / 60)
    return MailContent(
        variables={"shop": ctx.shared.shop.name, CODE: shown_code(code), "minutes": str(minutes)},
        code=code,
        has_long_code=request.is_long,
        is_fresh=_is_fresh(request, ctx.shared.shop.not_before),
    )


def _is_fresh(request: LoginRequest, not_before: datetime | None) -> bool:
    is_void = not_before is not None and request.created_at < not_before
    return request.consumed_at is None and request.superseded_at is None and not is_void


async def _load_confirmation(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    order = await orders.find_completed_order(ctx.db, ref_id)
    if order is None:
        return None
    details = await describe_order(ctx.shared, ctx.db, order, base_url)
    return MailContent(
        variables={
            **_order_variables(ctx, order),
            "total": str(details["total"]),
            "pickup": "yes" if order.pickup_location_id else "",
        },
        url=_order_url(ctx, order, base_url),
        part="order",
        details=details,
    )


async def _load_shipped(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    shipment = await records.find_record(ctx.db, SHIPMENTS, "id", ref_id)
    order = await orders.find_completed_order(ctx.db, shipment.order_id) if shipment else None
    if shipment is None or order is None:
        return None
    checkout = await load_checkout(ctx, order)
    lines = {line.id: line for line in checkout.lines}
    carrier = next((rate.name for rate in checkout.rates if rate.shipment_id == ref_id and rate.is_selected), "")
    items = [
        (item.quantity, lines[item.line_item_id].name, lines[item.line_item_id].options_text)
        for item in checkout.items
        if item.shipment_id == ref_id and item.line_item_id in lines
    ]
    return MailContent(
        variables={**_order_variables(ctx, order), "carrier": carrier, "tracking": shipment.tracking or ""},
        url=shipment.tracking_url,
        part="items",
        details={"items": items},
    )


async def _load_refund(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    refund = await records.find_record(ctx.db, REFUNDS, "id", ref_id)
    order = await orders.find_completed_order(ctx.db, refund.order_id) if refund else None
    if refund is None or order is None:
        return None
    amount = money_text(order.currency, ctx.shared.shop.default_locale)(refund.amount)
    credit = "yes" if refund.store_credit_id else ""
    variables = {**_order_variables(ctx, order), "amount": amount, "credit": credit}
    return MailContent(variables=variables, url=_order_url(ctx, order, base_url))


async def _load_canceled(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    order = await orders.find_completed_order(ctx.db, ref_id)
    if order is None:
        return None
    items = [(line.quantity, line.name, line.options_text) for line in await line_items.list_lines(ctx.db, order.id)]
    return MailContent(
        variables=_order_variables(ctx, order),
        url=_order_url(ctx, order, base_url),
        part="items",
        details={"items": items},
    )


async def _load_payment_attention(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    order = await orders.find_completed_order(ctx.db, ref_id)
    if order is None:
        return None
    checkout = await load_checkout(ctx, order)
    methods = await payments.list_methods_of(ctx.db, [each.payment_method_id for each in checkout.payments])
    pairs = [(each, methods[each.payment_method_id]) for each in checkout.payments]
    amount = find_amount_to_pay(ctx, checkout.balance, pairs)
    money = money_text(order.currency, ctx.shared.shop.default_locale)
    return MailContent(
        variables={**_order_variables(ctx, order), "amount": money(amount)},
        url=_order_url(ctx, order, base_url, "payment"),
        is_fresh=amount > 0 and order.canceled_at is None,
    )


async def _load_message(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    note = await find_note(ctx.db, ref_id)
    order = await orders.find_completed_order(ctx.db, note.order_id) if note else None
    if note is None or order is None:
        return None
    variables = {**_order_variables(ctx, order), MESSAGE: note.text}
    return MailContent(variables=variables, url=_order_url(ctx, order, base_url))


async def _load_quote(ctx: Context, ref_id: UUID, _base_url: str | None) -> MailContent | None:
    note = await find_note(ctx.db, ref_id)
    order = await orders.find_order(ctx.db, note.order_id) if note else None
    if note is None or note.file is None or order is None:
        return None
    variables = {**_order_variables(ctx, order), MESSAGE: note.text}
    return MailContent(variables=variables, files=[MailFile(f"quote-{order.number}.pdf", note.file)])


async def _load_back_in_stock(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    variant = await restocks.find_variant(ctx.db, ref_id)
    if variant is None:
        return None
    product = f"{variant.name} ({variant.options_text})" if variant.options_text else variant.name
    return MailContent(
        variables={"shop": ctx.shared.shop.name, "product": product},
        url=f"{base_url}/products/{variant.slug}?variant={ref_id}" if base_url else None,
    )


async def _load_new_sign_in(ctx: Context, ref_id: UUID, base_url: str | None) -> MailContent | None:
    session = await session_queries.find_session(ctx.db, ref_id)
    if session is None:
        return None
    return MailContent(
        variables={
            "shop": ctx.shared.shop.name,
            "device": device_kind(session.user_agent),
            "time": format_moment(session.created_at, ctx.shared.shop),
        },
        url=f"{base_url}/account/sessions" if base_url else None,
    )


async def _load_email_changed(ctx: Context, _ref_id: UUID, _base_url: str | None) -> MailContent:
    """Names neither address: each of them may belong to someone else."""
    return MailContent(variables={"shop": ctx.shared.shop.name})


def _order_variables(ctx: Context, order: Order) -> dict[str, str]:
    return {"shop": ctx.shared.shop.name, "number": order.number}


def _order_url(ctx: Context, order: Order, base_url: str | None, purpose: LinkPurpose = "status") -> str | None:
    return f"{base_url}/order-{purpose}/{build_link(ctx.shared, order, purpose)}" if base_url else None


_LOADERS: dict[str, _Loader] = {
    SIGN_IN_MAIL: _load_login_code,
    kinds.CONFIRMATION: _load_confirmation,
    kinds.ORDER_SHIPPED: _load_shipped,
    kinds.ORDER_REFUNDED: _load_refund,
    kinds.ORDER_CANCELED: _load_canceled,
    kinds.PAYMENT_ATTENTION: _load_payment_attention,
    kinds.ORDER_MESSAGE: _load_message,
    kinds.DRAFT_QUOTE: _load_quote,
    kinds.BACK_IN_STOCK: _load_back_in_stock,
    kinds.NEW_SIGN_IN: _load_new_sign_in,
    kinds.EMAIL_CHANGED: _load_email_changed,
    kinds.EMAIL_CHANGED_NEW: _load_email_changed,
}
