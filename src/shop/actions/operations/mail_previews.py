"""Previews of e-mails with example data, and tests that operators send to themselves."""

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.operations.mail_examples import build_example
from shop.actions.operations.mail_layout import render_blocks, render_layout
from shop.actions.setup.mails import get_definition, read_texts
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.models.setup.mails import NO_MAIL_SETTINGS, MailSettings
from shop.queries.operations import outbox

_TTL = 3600


class MailPreview(msgspec.Struct, frozen=True):
    """An e-mail with example data; the HTML shows the subject and the text version too."""

    subject: str
    html: str


def preview_mail(ctx: Context, kind: str, texts: dict[str, str] | None, base_url: str) -> MailPreview:
    """Renders an e-mail with these texts, or with the saved ones. Raises Invalid if a text is not valid."""
    definition, shop = get_definition(kind), ctx.shared.shop
    settings = shop.mail_settings(kind)
    if texts is not None:
        settings = MailSettings(texts=read_texts(definition, {**definition.texts(NO_MAIL_SETTINGS), **texts}))
    content = build_example(ctx.shared, definition, base_url)
    blocks = render_blocks(definition, settings, content)
    html, _ = render_layout(shop, blocks, content, base_url, is_preview=True)
    return MailPreview(blocks.subject, html)


async def send_test(ctx: Context, kind: str, operator: Operator) -> None:
    """Queues an e-mail with the saved texts and example data to the operator."""
    get_definition(kind)
    async with ctx.db.transaction():
        await outbox.insert_mail(
            ctx.db, id=new_id(), kind=kind, recipient=operator.email, ref_id=operator.id, ttl=_TTL, is_test=True
        )
        await audit(ctx, "mail_tested", "done", detail={"mail": kind})
    ctx.shared.mail_queued.set()
