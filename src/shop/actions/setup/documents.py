"""Settings of invoices and other documents. Every process sees a change within two seconds."""

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import note_settings
from shop.actions.setup.shop import find_country_code, get_shop
from shop.base.errors import Conflict, Invalid
from shop.models.setup.documents import DocumentSettings
from shop.models.setup.shop import STORE_ID
from shop.queries.customers import users
from shop.queries.setup import shop as shop_queries
from shop.rules.setup.documents import document_errors


async def change_documents(ctx: Context, settings: DocumentSettings, version: int) -> None:
    """Saves the settings; raises Conflict if the shop's settings have changed since `version`. Documents that were
    issued before stay as they are.
    """
    errors = document_errors(settings)
    country_code = await find_country_code(ctx, settings.country) if settings.country else ""
    if country_code is None:
        errors["country"] = ["must be a country, like Germany or DE"]
    if errors or country_code is None:
        raise Invalid(errors)
    settings = msgspec.structs.replace(settings, country=country_code)
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        shop = await shop_queries.update_documents(ctx.db, version=version, documents=msgspec.to_builtins(settings))
        if shop is None:
            raise Conflict("Someone else changed the settings; review them and try again.")
        note_settings(ctx, before, shop)
        await audit(ctx, "documents_changed", "done", subject_id=STORE_ID)
    ctx.shared.shop = shop


async def find_country_name(ctx: Context, code: str) -> str | None:
    country = await users.find_country(ctx.db, code=code, country_id=None) if len(code) == 2 else None
    return country.name if country else None
