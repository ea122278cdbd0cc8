"""Creates, updates and deletes shipping methods and categories, in the caller's transaction."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.money import is_currency, major_units, minor_units
from shop.base.values import read_decimal
from shop.models.checkout.shipments import (
    DISPLAYS,
    shipping_method_amounts,
    shipping_method_categories,
    shipping_method_zones,
    shipping_methods,
)
from shop.models.setup.inputs import ShippingMethodInput
from shop.models.setup.taxes import DEFAULT_SHIPPING_CATEGORY, shipping_categories
from shop.queries import bulk, writes
from shop.queries.setup import methods
from shop.rules.setup.choices import check_choice
from shop.rules.setup.shipping import CALCULATORS, is_tracking_url

MAX_STEPS = 50


async def create_shipping_method(ctx: Context, values: ShippingMethodInput) -> UUID:
    method_id = new_id()
    new_values: ShippingMethodInput = {"shipping_category_ids": [DEFAULT_SHIPPING_CATEGORY], **values}
    await _write_method(ctx, method_id, new_values, is_new=True)
    return method_id


async def update_shipping_method(ctx: Context, method_id: UUID, values: ShippingMethodInput) -> None:
    await _write_method(ctx, method_id, values, is_new=False)


async def _write_method(ctx: Context, method_id: UUID, values: ShippingMethodInput, *, is_new: bool) -> None:
    check_choice(values, "calculator", tuple(CALCULATORS))
    check_choice(values, "display_on", DISPLAYS)
    tracking_url = values.get("tracking_url")
    if tracking_url is not None and not is_tracking_url(tracking_url):
        raise Invalid({"tracking_url": ["must be a URL that starts with https://"]})
    amounts = _parse_amounts(values["amounts"]) if "amounts" in values else None
    link_fields = {"zone_ids", "shipping_category_ids", "amounts"}
    fields = {name: value for name, value in values.items() if name not in link_fields}
    if is_new:
        await writes.insert_record(ctx.db, shipping_methods, method_id, fields)
    else:
        # Also if only the links change: the time of the last change tells a form that it is outdated.
        await writes.update_record(ctx.db, shipping_methods, method_id, fields)
    owner = "shipping_method_id", method_id
    if "zone_ids" in values:
        await writes.replace_links(ctx.db, shipping_method_zones, owner, "zone_id", values["zone_ids"])
    if "shipping_category_ids" in values:
        category_ids = values["shipping_category_ids"]
        await writes.replace_links(ctx.db, shipping_method_categories, owner, "shipping_category_id", category_ids)
    if amounts is not None:
        await methods.remove_amounts(ctx.db, method_id)
        rows = [{"id": new_id(), "shipping_method_id": method_id, **row} for row in amounts]
        await bulk.insert_rows(ctx.db, shipping_method_amounts.name, rows)


async def delete_shipping_method(ctx: Context, method_id: UUID) -> None:
    """Soft-deletes a shipping method; shipments that use it keep it. Its zones and categories can be deleted then."""
    await methods.soft_delete(ctx.db, shipping_methods, method_id)
    owner = "shipping_method_id", method_id
    await writes.replace_links(ctx.db, shipping_method_zones, owner, "zone_id", [])
    await writes.replace_links(ctx.db, shipping_method_categories, owner, "shipping_category_id", [])


async def present_amounts(_ctx: Context, method: Any, values: Mapping[str, object]) -> dict[str, object]:
    """Returns the current amounts as a request has them: those of the request itself if it changes none."""
    amounts = values.get("amounts")
    if not isinstance(amounts, Mapping):
        return {}
    new_steps = {(each["currency"], float(each["from_weight"]), each["amount"]) for each in _parse_amounts(amounts)}
    if new_steps == {(currency, float(weight), amount) for currency, weight, amount in method.amounts}:
        return {"amounts": amounts}
    current: dict[str, dict[str, str]] = {}
    for currency, weight, amount in method.amounts:
        current.setdefault(currency, {})[f"{weight:g}"] = str(major_units(amount, currency))
    return {"amounts": current}


def _parse_amounts(amounts_by_currency: Mapping[str, object]) -> list[dict[str, Any]]:
    """Parses `{"USD": "5.00"}`, or by minimum weight `{"USD": {"0": "5.00", "2.5": "9.00"}}`."""
    rows: list[dict[str, Any]] = []
    for currency, value in amounts_by_currency.items():
        if not is_currency(currency):
            raise Invalid({"amounts": [f"{currency} is not a currency"]})
        steps = value if isinstance(value, dict) else {"0": value}
        if not 0 < len(steps) <= MAX_STEPS:
            raise Invalid({"amounts": [f"{currency} must have from 1 to {MAX_STEPS} amounts"]})
        for weight, amount in steps.items():
            try:
                minor = minor_units(read_decimal(amount), currency)
            except ValueError as error:
                raise Invalid({"amounts": [f"{currency} {error}"]}) from None
            from_weight = _parse_weight(weight)
            if from_weight is None:
                raise Invalid({"amounts": [f"{currency} has an invalid weight"]})
            rows.append({"currency": currency, "from_weight": from_weight, "amount": minor})
    return rows


def _parse_weight(text: str) -> Decimal | None:
    """Accepts an exponent, unlike `read_decimal`: a large weight is shown as `1e+06`, and clients may send it back."""
    try:
        weight = Decimal(text)
    except InvalidOperation:
        return None
    return weight if weight.is_finite() and weight >= 0 else None


async def delete_shipping_category(ctx: Context, category_id: UUID) -> None:
    """Deletes a shipping category, except the default category of new products."""
    if category_id == DEFAULT_SHIPPING_CATEGORY:
        raise Invalid({"base": ["is the default and cannot be deleted"]})
    if not await writes.delete_record(ctx.db, shipping_categories, category_id):
        raise NotFound()
