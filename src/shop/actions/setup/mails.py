"""Settings of the e-mails to customers: whether each is sent, and its texts. Every process sees a change within two
seconds.
"""

from collections.abc import Mapping

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import note_settings
from shop.actions.setup.shop import get_shop
from shop.base.errors import Conflict, Invalid, NotFound
from shop.models.setup.mails import NO_MAIL_SETTINGS, MailSettings
from shop.queries.setup import shop as shop_queries
from shop.rules.mail.definitions import DEFINITIONS, MailDefinition, text_errors


def get_definition(kind: str) -> MailDefinition:
    if kind not in DEFINITIONS:
        raise NotFound()
    return DEFINITIONS[kind]


def read_texts(definition: MailDefinition, texts: Mapping[str, str]) -> dict[str, str]:
    """Returns the edited texts: those that differ from the defaults. Raises Invalid with the errors of all texts."""
    if errors := text_errors(definition, texts):
        raise Invalid(errors)
    return {name: texts[name] for name in definition.text_names if texts[name] != getattr(definition, name)}


async def change_mail(ctx: Context, kind: str, settings: MailSettings, version: int) -> None:
    """Saves the settings of an e-mail; raises Conflict if the shop's settings have changed since `version`."""
    definition = get_definition(kind)
    texts = read_texts(definition, {**definition.texts(NO_MAIL_SETTINGS), **settings.texts})
    is_on = settings.is_on or not definition.can_turn_off
    await _save(ctx, kind, MailSettings(is_on=is_on, texts=texts), version)


async def reset_mail(ctx: Context, kind: str, version: int) -> None:
    """Restores the default texts of an e-mail."""
    get_definition(kind)
    is_on = (await get_shop(ctx)).mail_settings(kind).is_on
    await _save(ctx, kind, MailSettings(is_on=is_on), version)


async def _save(ctx: Context, kind: str, settings: MailSettings, version: int) -> None:
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        others = {name: values for name, values in before.mails.items() if name != kind}
        # Only what differs from the defaults, so that upgrades improve the rest.
        own = {} if settings == NO_MAIL_SETTINGS else {kind: msgspec.to_builtins(settings)}
        shop = await shop_queries.update_mails(ctx.db, version=version, mails={**others, **own})
        if shop is None:
            raise Conflict("Someone else changed the settings; review them and try again.")
        note_settings(ctx, before, shop)
        detail = {"mail": kind, "is_on": settings.is_on, "texts": sorted(settings.texts)}
        await audit(ctx, "mail_changed", "done", detail=detail)
    ctx.shared.shop = shop
