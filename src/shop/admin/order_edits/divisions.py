"""The page that divides a shipment or merges it into another one."""

from typing import Any

from shop.actions.context import Context
from shop.actions.order_edits import divisions
from shop.actions.order_edits.divisions import DivisibleShipment
from shop.actions.orders.pages import get_order
from shop.admin.fields import Fields, id_of
from shop.admin.order_edits.quantities import read_quantities
from shop.admin.orders.orders import address_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.cart.orders import Order
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {"base": "The shipment", "quantity": "Quantity", "target": "Target"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await get_order(ctx, request.path_params["number"])
    divisible = await divisions.load_divisible(ctx, order, id_of(request, "shipment_id"))
    if divisible.refusal:
        raise Conflict(divisible.refusal)
    return _form_page(page_context, order, divisible, {})


async def divide(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    shipment_id = id_of(request, "shipment_id")
    divisible = await divisions.load_divisible(ctx, order, shipment_id)
    try:
        quantities, target_id = read_quantities(fields, "quantity"), fields.id("target")
        if fields.texts.get("target") and target_id is None:
            fields.refuse("target", "is not a valid choice")
        if fields.texts.get("do") == "merge":
            quantities = {item.id: item.quantity for _, item in divisible.items}
            if target_id is None:
                fields.refuse("target", "must be an existing shipment")
        fields.check()
        await divisions.move_units(ctx, order.id, shipment_id, quantities, target_id)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        values = {f"quantity[{key}]": text for key, text in fields.group("quantity").items()}
        values["target"] = fields.texts.get("target", "")
        page_errors = {name if name in LABELS else "base": sentences for name, sentences in errors.items()}
        return _form_page(page_context, order, divisible, values, error.status, errors=page_errors)
    return redirect(f"{address_of(order)}?done=divided")


def _form_page(
    page_context: PageContext,
    order: Order,
    divisible: DivisibleShipment,
    values: dict[str, Any],
    status: int = 200,
    **more: Any,
) -> Reply:
    numbers = {str(each.id): f"Shipment {each.number}" for each in divisible.targets}
    context = {"order": order, "here": address_of(order), "divisible": divisible, "labels": LABELS}
    # The last unit cannot leave for a new shipment.
    new_shipment = {"": "A new shipment"} if sum(item.quantity for _, item in divisible.items) > 1 else {}
    choices = {"targets": {**new_shipment, **numbers}, "values": {"target": "", **values}}
    return page("order_edits/divide.html", page_context, status, **context, **choices, **more)
