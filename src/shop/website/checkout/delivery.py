"""The delivery step: a shipping rate for each shipment."""

from collections.abc import Mapping
from typing import Any

from shop.actions.cart.orders import Checkout
from shop.actions.checkout import views, workflow
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, Unauthenticated
from shop.models.checkout.inputs import CheckoutFields
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.checkout.progress import ADDRESS, CART, DELIVERY, PAYMENT, REVIEW, STEPS, path_for_error
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import show_page
from shop.website.pages import redirect
from shop.website.visits import Visit

_LABELS = {"shipments": "Delivery", "shipments_attributes": "Delivery"}
_CHOOSE_AGAIN = "Please choose a delivery option again: they have changed."


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        checkout = await views.get_shipments(ctx)
    except (NotFound, Unauthenticated):
        return redirect(CART)
    except Invalid as error:
        return redirect(path_for_error(error, DELIVERY) or ADDRESS)
    return await _show_rates(request, ctx, visit, checkout)


async def save(request: Request, ctx: Context, visit: Visit) -> Reply:
    rates = request.body_params().get("rate")
    members = (
        [{"id": shipment, "selected_shipping_rate_id": rate} for shipment, rate in rates.items()]
        if isinstance(rates, Mapping)
        else []
    )
    try:
        choices = read_input(CheckoutFields, {"shipments_attributes": members}).shipments_attributes or []
        checkout = await workflow.enter_delivery(ctx, choices)
    except Invalid as error:
        other = path_for_error(error, DELIVERY)
        if other or error.code not in {"shipment_not_found", "no_shipping_rate"}:
            return redirect(other or ADDRESS)
        errors = {"shipments": [_CHOOSE_AGAIN]}
        return await _show_rates(request, ctx, visit, await views.get_shipments(ctx), errors)
    return redirect(PAYMENT if checkout.order.total else REVIEW)


async def _show_rates(
    request: Request,
    ctx: Context,
    visit: Visit,
    checkout: Checkout,
    errors: Mapping[str, list[str]] | None = None,
) -> Reply:
    lines = {line.id: line for line in checkout.lines}
    page: dict[str, Any] = {
        "title": "Delivery",
        "steps": STEPS,
        "order": checkout.order,
        "rows": await load_rows(ctx, checkout.order, checkout.lines),
        "sums": build_sums(checkout.order),
        "shipments": [
            (
                shipment,
                [rate for rate in checkout.rates if rate.shipment_id == shipment.id],
                [(lines[item.line_item_id], item) for item in checkout.items if item.shipment_id == shipment.id],
            )
            for shipment in checkout.shipments
        ],
        "labels": _LABELS,
        "errors": errors or {},
    }
    return await show_page(ctx, request, visit, "checkout/delivery.html", 422 if errors else 200, **page)
