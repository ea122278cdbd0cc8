"""Shop settings: name, currencies, country, locale, time zone, order numbers and units. Every process sees a change
within two seconds.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from email.utils import parseaddr
from typing import Any

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import note_settings
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import as_uuid
from shop.base.times import zone_names
from shop.models.setup.countries import Country, State
from shop.models.setup.shop import STORE_ID, Shop, Store
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.queries.setup import shop as shop_queries
from shop.queries.setup import uses as uses_queries
from shop.queries.setup.uses import Use
from shop.rules.access.roles import MAX_REFUND_LIMIT
from shop.rules.setup.names import find_code, name_zones
from shop.rules.setup.shop import currency_codes, locale_code, order_number_errors, shop_errors, unit_errors


class ShopOptions(msgspec.Struct, frozen=True):
    """The values of the settings form, and the version that it was loaded from."""

    name: str
    currencies: Sequence[str]
    """Names or codes."""
    default_country: str
    default_locale: str
    time_zone: str
    order_prefix: str
    order_digits: int | None
    weight_unit: str
    dimension_unit: str
    version: int
    removes_used_currencies: bool = False
    """Whether currencies are removed that records use."""


async def get_shop(ctx: Context) -> Shop:
    """Returns the shop from the database, not from this process's copy."""
    shop = await shop_queries.find_shop(ctx.db)
    if shop is None:
        raise Conflict()
    return shop


async def change_shop(ctx: Context, form: ShopOptions) -> None:
    values = await _check_options(ctx, form)
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        updated_shop = await shop_queries.update_shop(ctx.db, version=form.version, **values)
        if updated_shop is None:
            raise Conflict("Someone else changed the settings; review them and try again.")
        if not form.removes_used_currencies and await list_currency_uses(ctx, before, updated_shop.currencies):
            raise Invalid({"removes_used_currencies": ["A currency that you removed is in use. Confirm it below."]})
        note_settings(ctx, before, updated_shop)
        await audit(ctx, "shop_changed", "done", subject_id=STORE_ID)
    ctx.shared.shop = updated_shop


async def list_currency_uses(ctx: Context, shop: Shop, currencies: Sequence[str]) -> Mapping[str, Sequence[Use]]:
    """Returns what uses the currencies that the shop would no longer have, by code."""
    uses = {
        code: await uses_queries.list_currency_uses(ctx.db, code) for code in shop.currencies if code not in currencies
    }
    return {code: rows for code, rows in uses.items() if rows}


async def _check_options(ctx: Context, form: ShopOptions) -> dict[str, Any]:
    """Returns the values of the columns; raises if one is invalid."""
    values: dict[str, Any] = {
        "name": form.name.strip(),
        "currencies": currency_codes(form.currencies),
        "default_locale": locale_code(form.default_locale),
        "time_zone": find_code(form.time_zone, name_zones()) or form.time_zone.strip(),
        "order_prefix": form.order_prefix.strip().upper(),
        "order_digits": form.order_digits,
        "weight_unit": form.weight_unit,
        "dimension_unit": form.dimension_unit,
    }
    errors = shop_errors(values["name"], form.currencies, values["default_locale"])
    errors |= order_number_errors(values["order_prefix"], form.order_digits)
    errors |= unit_errors(form.weight_unit, form.dimension_unit)
    if values["time_zone"] not in zone_names():
        errors["time_zone"] = ["must be a time zone, like Berlin, Germany or Europe/Berlin"]
    country_code = await find_country_code(ctx, form.default_country)
    if country_code is None:
        errors["default_country"] = ["must be a country, like Germany or DE"]
    if errors:
        raise Invalid(errors)
    return values | {"default_country": country_code}


async def change_refund_approval(ctx: Context, amount: Decimal | None) -> None:
    """Sets the amount above which a refund by an operator needs a second operator; None turns this off."""
    if amount is not None and not 0 <= amount <= MAX_REFUND_LIMIT:
        raise Invalid({"amount": ["must be between 0 and 1,000,000,000"]})
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        shop = await shop_queries.update_refund_approval(ctx.db, amount)
        note_settings(ctx, before, shop)
        await audit(ctx, "refund_approval_changed", "done", subject_id=STORE_ID)
    ctx.shared.shop = shop


async def find_country_code(ctx: Context, text: str) -> str | None:
    """Returns the code of a country that is named by its code or its English name."""
    return find_code(text, {country.iso: country.name for country in await users.list_countries(ctx.db)})


async def list_countries(ctx: Context, *, is_shippable: bool = False) -> list[Country]:
    """Returns all countries, or those that a shipping method reaches."""
    await ctx.check_bearer()
    countries = await users.list_countries(ctx.db)
    if not is_shippable:
        return countries
    reachable_ids = {country_id for country_id, _ in await shipments.list_destinations(ctx.db)}
    return [country for country in countries if country.id in reachable_ids]


async def list_reachable_states(ctx: Context, country: Country, states: list[State]) -> list[State]:
    """Returns the states that shipping methods reach; all states if the methods reach the whole country or no state."""
    reachable_ids = {
        state_id for country_id, state_id in await shipments.list_destinations(ctx.db) if country_id == country.id
    }
    return (
        [state for state in states if state.id in reachable_ids]
        if reachable_ids and None not in reachable_ids
        else states
    )


async def get_country(ctx: Context, key: str) -> tuple[Country, list[State]]:
    """Returns a country by its two- or three-letter code in any case, by id, or the shop's own by `default`."""
    await ctx.check_bearer()
    code = ctx.shared.shop.default_country if key == "default" else key.upper()
    country = await users.find_country(ctx.db, code=code, country_id=as_uuid(key))
    if country is None:
        raise NotFound()
    return country, await users.list_states(ctx.db, country.id)


async def find_country(ctx: Context, code: str) -> tuple[Country, list[State]]:
    """Returns a country with its states; the shop's own if the code is not one of a country."""
    try:
        return await get_country(ctx, code or "default")
    except NotFound:
        return await get_country(ctx, "default")


async def get_store(ctx: Context) -> Store:
    await ctx.check_bearer()
    shop = ctx.shared.shop
    country = await users.find_country(ctx.db, code=shop.default_country, country_id=None)
    return Store(
        shop.name,
        shop.currencies,
        shop.default_locale,
        country.id if country else None,
        shop.document_settings.email or parseaddr(ctx.shared.settings.mail_from)[1] or None,
    )
