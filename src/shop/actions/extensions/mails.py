"""E-mails of extensions: queued in the outbox of the shop, and rendered with its layout when they are sent."""

from uuid import UUID

import structlog

from shop.actions.context import Context
from shop.actions.extensions.declarations import ExtensionMail
from shop.actions.extensions.extension_context import ExtensionContext
from shop.actions.extensions.isolation import run_isolated
from shop.actions.installed_extensions import InstalledExtension
from shop.actions.operations.mail_layout import MailContent
from shop.base.errors import InternalError
from shop.gateways.mail import TemporaryMailError

_log = structlog.get_logger("shop.extensions")


async def load_extension_mail(
    extension: InstalledExtension, mail: ExtensionMail, ctx: Context, ref_id: UUID, base_url: str | None
) -> MailContent | None:
    """Loads the content of an e-mail; raises TemporaryMailError if the extension fails, so that it is tried again."""
    definition = mail.definition
    work = mail.load(ExtensionContext(ctx, extension), ref_id)
    try:
        values = await run_isolated(extension.name, f"e-mail {definition.kind}", work)
    except InternalError:
        raise TemporaryMailError(f"the extension {extension.name} failed") from None
    if values is None:
        return None
    variables = {"shop": ctx.shared.shop.name, **{name: str(value) for name, value in values.variables.items()}}
    if missing := sorted(set(definition.variables) - set(variables)):
        _log.error("extension failed", extension=extension.name, part=f"e-mail {definition.kind}", missing=missing)
        raise TemporaryMailError(f"the extension {extension.name} has no value of {missing[0]}")
    return MailContent(
        variables=variables,
        url=f"{base_url}{values.path}" if base_url and values.path and definition.button else None,
        part=definition.kind if definition.part_example is not None else None,
        details=values.details,
    )
