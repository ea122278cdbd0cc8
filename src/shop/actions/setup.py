"""How the shop is set up: its name, currencies, country and locale; every process sees a change within two seconds."""

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid
from shop.models.setup import Shop
from shop.queries import people, setup
from shop.rules.setup import currency_codes, shop_errors

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
    found = await people.find_country(ctx.db, code=country, country_id=None) if len(country) == 2 else None
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


def _shown(shop: Shop) -> dict[str, object]:
    return {name: getattr(shop, name) for name in _EDITABLE}
