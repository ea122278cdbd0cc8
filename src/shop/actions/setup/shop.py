"""Shop settings: name, currencies, country, locale and time zone. Every process sees a change within two seconds."""

from decimal import Decimal
from email.utils import parseaddr

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
from shop.rules.access.roles import MAX_REFUND_LIMIT
from shop.rules.setup.shop import currency_codes, shop_errors


class ShopOptions(msgspec.Struct, frozen=True):
    """The values of the settings form, and the version that it was loaded from."""

    name: str
    currencies: str
    default_country: str
    default_locale: str
    time_zone: str
    version: int


async def get_shop(ctx: Context) -> Shop:
    """Returns the shop from the database, not from this process's copy."""
    shop = await shop_queries.find_shop(ctx.db)
    if shop is None:
        raise Conflict()
    return shop


async def change_shop(ctx: Context, form: ShopOptions) -> None:
    name, codes = form.name.strip(), currency_codes(form.currencies)
    country_code, locale = form.default_country.strip().upper(), form.default_locale.strip()
    zone = form.time_zone.strip()
    errors = shop_errors(name, codes, locale)
    if zone not in zone_names():
        errors["time_zone"] = ["must be a time zone like UTC or Europe/Berlin"]
    country = await _find_country(ctx, country_code)
    if country is None:
        errors["default_country"] = ["must be a country, like Germany or DE"]
    if errors or country is None:
        raise Invalid(errors)
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        values = {"name": name, "currencies": codes, "default_country": country.iso, "default_locale": locale}
        values["time_zone"] = zone
        updated_shop = await shop_queries.update_shop(ctx.db, version=form.version, **values)
        if updated_shop is None:
            raise Conflict("Someone else changed the settings; review them and try again.")
        note_settings(ctx, before, updated_shop)
        await audit(ctx, "shop_changed", "done", subject_id=STORE_ID)
    ctx.shared.shop = updated_shop


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


async def _find_country(ctx: Context, text: str) -> Country | None:
    """Returns a country by its code or its English name, in uppercase."""
    if len(text) == 2:
        return await users.find_country(ctx.db, code=text, country_id=None)
    return next((country for country in await users.list_countries(ctx.db) if country.name.upper() == text), None)


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
        parseaddr(ctx.shared.settings.mail_from)[1] or None,
    )
