"""Creates, updates and deletes zones, tax rates, shipping and payment methods, in the caller's transaction."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.money import is_currency, minor_units
from shop.base.values import read_decimal
from shop.gateways.providers import TYPES
from shop.models.checkout.payments import STORE_CREDIT_METHOD, payment_methods
from shop.models.checkout.shipments import (
    CALCULATORS,
    DISPLAYS,
    shipping_method_amounts,
    shipping_method_categories,
    shipping_method_zones,
    shipping_methods,
)
from shop.models.setup.inputs import PaymentMethodInput, ShippingMethodInput, TaxRateInput, ZoneInput
from shop.models.setup.taxes import DEFAULT_SHIPPING_CATEGORY, shipping_categories
from shop.models.setup.zones import KINDS, tax_rates, zone_members, zones
from shop.queries import bulk, writes
from shop.queries.setup import methods
from shop.rules.setup.shipping import is_tracking_url

MOST_STEPS = 50
SECRETS = (b"sk_", b"rk_", b"whsec_")
"""Prefixes of the providers' secret keys."""
_NOT_READY = {
    "stripe": "needs keys first: set SHOP_STRIPE_SECRET_KEY and SHOP_STRIPE_WEBHOOK_SECRET",
    "test_card": "works only in a try-out: without an external database, SMTP server, public URL or proxy, on loopback",
}


def _check(values: Mapping[str, object], name: str, choices: tuple[str, ...]) -> None:
    if name in values and values[name] not in choices:
        raise Invalid({name: [f"must be one of {', '.join(choices)}"]})


async def create_zone(ctx: Context, values: ZoneInput) -> UUID:
    zone_id = new_id()
    await _write_zone(ctx, zone_id, values, is_new=True)
    return zone_id


async def update_zone(ctx: Context, zone_id: UUID, values: ZoneInput) -> None:
    await _write_zone(ctx, zone_id, values, is_new=False)


async def _write_zone(ctx: Context, zone_id: UUID, values: ZoneInput, *, is_new: bool) -> None:
    """Writes a zone and replaces its members, which are countries or states depending on its kind."""
    _check(values, "kind", KINDS)
    fields = {name: value for name, value in values.items() if name not in {"country_ids", "state_ids"}}
    if values.get("default_tax"):
        await methods.unset_default_tax(ctx.db, zone_id)
    if is_new:
        await writes.insert_record(ctx.db, zones, zone_id, fields)
    elif fields:
        await writes.update_record(ctx.db, zones, zone_id, fields)
    owner = "zone_id", zone_id
    if "country_ids" in values:
        await writes.replace_links(ctx.db, zone_members, owner, "country_id", values["country_ids"])
    if "state_ids" in values:
        await writes.replace_links(ctx.db, zone_members, owner, "state_id", values["state_ids"])


async def delete_zone(ctx: Context, zone_id: UUID) -> None:
    if not await writes.delete_record(ctx.db, zones, zone_id):
        raise NotFound()


async def create_tax_rate(ctx: Context, values: TaxRateInput) -> UUID:
    _check_rate(values)
    rate_id = new_id()
    await writes.insert_record(ctx.db, tax_rates, rate_id, values)
    return rate_id


async def update_tax_rate(ctx: Context, rate_id: UUID, values: TaxRateInput) -> None:
    _check_rate(values)
    await writes.update_record(ctx.db, tax_rates, rate_id, values)


async def delete_tax_rate(ctx: Context, rate_id: UUID) -> None:
    if not await writes.delete_record(ctx.db, tax_rates, rate_id):
        raise NotFound()


def _check_rate(values: TaxRateInput) -> None:
    amount = values.get("amount")
    if amount is not None and not (0 <= amount < 10 and amount == round(amount, 5)):
        raise Invalid({"amount": ["must be a share like 0.19, with at most five decimals"]})


async def create_shipping_method(ctx: Context, values: ShippingMethodInput) -> UUID:
    method_id = new_id()
    new_values: ShippingMethodInput = {"shipping_category_ids": [DEFAULT_SHIPPING_CATEGORY], **values}
    await _write_method(ctx, method_id, new_values, is_new=True)
    return method_id


async def update_shipping_method(ctx: Context, method_id: UUID, values: ShippingMethodInput) -> None:
    await _write_method(ctx, method_id, values, is_new=False)


async def _write_method(ctx: Context, method_id: UUID, values: ShippingMethodInput, *, is_new: bool) -> None:
    _check(values, "calculator", CALCULATORS)
    _check(values, "display_on", DISPLAYS)
    tracking_url = values.get("tracking_url")
    if tracking_url is not None and not is_tracking_url(tracking_url):
        raise Invalid({"tracking_url": ["must be a URL that starts with https://"]})
    amounts = _parse_amounts(values["amounts"]) if "amounts" in values else None
    link_fields = {"zone_ids", "shipping_category_ids", "amounts"}
    fields = {name: value for name, value in values.items() if name not in link_fields}
    if is_new:
        await writes.insert_record(ctx.db, shipping_methods, method_id, fields)
    elif fields:
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
    """Soft-deletes a shipping method; shipments that use it keep it."""
    await methods.hide(ctx.db, shipping_methods, method_id)


def _parse_amounts(amounts_by_currency: Mapping[str, object]) -> list[dict[str, object]]:
    """Parses `{"USD": "5.00"}`, or by minimum weight `{"USD": {"0": "5.00", "2.5": "9.00"}}`."""
    rows: list[dict[str, object]] = []
    for currency, value in amounts_by_currency.items():
        if not is_currency(currency):
            raise Invalid({"amounts": [f"{currency} is not a currency"]})
        steps = value if isinstance(value, dict) else {"0": value}
        if not 0 < len(steps) <= MOST_STEPS:
            raise Invalid({"amounts": [f"{currency} must have from 1 to {MOST_STEPS} amounts"]})
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


async def create_payment_method(ctx: Context, values: PaymentMethodInput) -> UUID:
    _check(values, "type", TYPES)
    _check(values, "display_on", DISPLAYS)
    _check_preferences(values)
    if not ctx.can_pay_with(values["type"]):
        raise Invalid({"type": [_NOT_READY[values["type"]]]})
    method_id = new_id()
    await writes.insert_record(ctx.db, payment_methods, method_id, values)
    return method_id


async def update_payment_method(ctx: Context, method_id: UUID, values: PaymentMethodInput) -> None:
    _check(values, "display_on", DISPLAYS)
    _check_preferences(values)
    if method_id == STORE_CREDIT_METHOD and values.keys() & {"display_on", "active"}:
        raise Invalid({"display_on": ["cannot be changed: store credit has its own endpoint"]})
    await writes.update_record(ctx.db, payment_methods, method_id, values)


def _check_preferences(values: PaymentMethodInput) -> None:
    """Refuses secret keys in preferences, which are public."""
    preferences_json = msgspec.json.encode(values.get("preferences"))
    if any(b'"' + word in preferences_json for word in SECRETS):
        raise Invalid({"preferences": ["are public; put secret keys in the shop's settings"]})


async def delete_payment_method(ctx: Context, method_id: UUID) -> None:
    """Soft-deletes a payment method; payments that use it keep it."""
    if method_id == STORE_CREDIT_METHOD:
        raise Invalid({"base": ["is required for store credit and cannot be deleted"]})
    await methods.hide(ctx.db, payment_methods, method_id)
