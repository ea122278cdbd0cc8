"""How the shop is set up: its name, currencies, country and locale; every process sees a change within two seconds."""

from email.utils import parseaddr

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import as_uuid
from shop.models.setup.countries import Country, State
from shop.models.setup.shop import Shop, Store
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.queries.setup import shop as setup
from shop.rules.setup.shop import currency_codes, shop_errors

_EDITABLE = ("name", "currencies", "default_country", "default_locale")


class Wishes(msgspec.Struct, frozen=True):
    """What was typed, and the version it was typed over."""

    name: str
    currencies: str
    default_country: str
    default_locale: str
    version: int


async def get_shop(ctx: Context) -> Shop:
    """As it is now, and not as this process last saw it."""
    found = await setup.find_shop(ctx.db)
    if found is None:
        raise Conflict()
    return found


async def change_shop(ctx: Context, wishes: Wishes) -> None:
    name, codes = wishes.name.strip(), currency_codes(wishes.currencies)
    country, locale = wishes.default_country.strip().upper(), wishes.default_locale.strip()
    errors = shop_errors(name, codes, locale)
    found = await users.find_country(ctx.db, code=country, country_id=None) if len(country) == 2 else None
    if found is None:
        errors["default_country"] = ["must be the code of a country, like US or DE"]
    if errors:
        raise Invalid(errors)
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        values = {"name": name, "currencies": codes, "default_country": country, "default_locale": locale}
        changed = await setup.update_shop(ctx.db, version=wishes.version, **values)
        if changed is None:
            raise Conflict("Somebody changed the settings meanwhile; look at them again.")
        detail = {"before": _shown(before), "after": _shown(changed)}
        await audit(ctx, "shop_changed", "done", detail=detail)
    ctx.shared.shop = changed


async def list_countries(ctx: Context, *, is_shippable: bool = False) -> list[Country]:
    """All of them, or those that something can be sent to."""
    await ctx.check_bearer()
    found = await users.list_countries(ctx.db)
    if not is_shippable:
        return found
    reached = {country_id for country_id, _ in await shipments.list_reached(ctx.db)}
    return [country for country in found if country.id in reached]


async def list_reached_states(ctx: Context, country: Country, states: list[State]) -> list[State]:
    """Where only some of them are reached, those; else all."""
    reached = {state_id for country_id, state_id in await shipments.list_reached(ctx.db) if country_id == country.id}
    return [state for state in states if state.id in reached] if reached and None not in reached else states


async def get_country(ctx: Context, key: str) -> tuple[Country, list[State]]:
    """By its code of two or three letters in any case, by its id, or the shop's own by `default`."""
    await ctx.check_bearer()
    code = ctx.shared.shop.default_country if key == "default" else key.upper()
    country = await users.find_country(ctx.db, code=code, country_id=as_uuid(key))
    if country is None:
        raise NotFound()
    return country, await users.list_states(ctx.db, country.id)


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


def _shown(shop: Shop) -> dict[str, object]:
    return {name: getattr(shop, name) for name in _EDITABLE}
