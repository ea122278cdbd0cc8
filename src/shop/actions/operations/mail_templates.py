"""Renders e-mails when they are sent or viewed, so that no login code is stored in the database."""

import msgspec

from shop.actions.context import Context, Shared
from shop.actions.operations.mail_contents import load_content
from shop.actions.operations.mail_examples import build_example
from shop.actions.operations.mail_layout import MailBlocks, MailContent, build_mail, render_blocks
from shop.base.times import format_time
from shop.db.pool import DatabaseSession
from shop.gateways.mail import Mail, TemporaryMailError
from shop.models.journal import OutboxMail
from shop.queries import journal
from shop.queries.access import operator_links
from shop.rules.access.operator_notices import NOTICES
from shop.rules.access.staff import INVITATION_MAIL, invitation_secret
from shop.rules.mail.definitions import DEFINITIONS

_OPERATOR_NOTICE = "operator_notice"
_ACCOUNT_FOOTER = (
    "If this was you, ignore this e-mail. If not, someone else has access to your account: change your password and "
    "end your other sessions under “Your account” in the dashboard. If you cannot sign in, ask the administrator of "
    "the server to run: shop admin disable EMAIL"
)


class RenderedMail(msgspec.Struct, frozen=True):
    """A rendered e-mail with its login code, and whether it is still current."""

    mail: Mail
    code: str | None
    is_fresh: bool


async def render_mail(
    shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail, base_url: str | None = None
) -> RenderedMail | None:
    """Renders a queued e-mail; returns None if its subject no longer exists. `base_url` is the address of the website
    in a shop without a public URL. Raises TemporaryMailError if an extension cannot render it now.
    """
    site_url = shared.settings.public_url or base_url
    if outbox_mail.kind == _OPERATOR_NOTICE:
        return await _render_operator_notice(shared, db, outbox_mail)
    if outbox_mail.kind == INVITATION_MAIL:
        return await _render_invitation(shared, db, outbox_mail, site_url)
    ctx = Context(shared)
    ctx.db = db
    definition = DEFINITIONS.get(outbox_mail.kind)
    if definition is None:
        raise TemporaryMailError("the extension that sends this e-mail is not installed")
    if outbox_mail.is_test:
        content: MailContent | None = build_example(shared, definition, site_url)
    else:
        content = await load_content(ctx, outbox_mail.kind, outbox_mail.ref_id, site_url)
    if content is None:
        return None
    blocks = render_blocks(definition, shared.shop.mail_settings(definition.kind), content)
    mail = build_mail(shared.shop, outbox_mail, blocks, content, site_url)
    return RenderedMail(mail, None if outbox_mail.is_test else content.code, content.is_fresh)


async def _render_operator_notice(shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail) -> RenderedMail | None:
    event = await journal.find_audit(db, outbox_mail.ref_id)
    if event is None or event.action not in NOTICES:
        return None
    notice, public_url = NOTICES[event.action], shared.settings.public_url
    is_about_account = notice.page is None
    facts = [format_time(event.at, shared.shop.zone)]
    if is_about_account:
        facts = [outbox_mail.recipient, *facts, f"From {event.source or 'the command line'}"]
    blocks = MailBlocks(
        subject=f"{notice.subject} ({shared.shop.name})",
        heading=notice.subject,
        body="\n\n".join([notice.body.format(**event.detail), "\n".join(facts)]),
        button="Your account" if is_about_account else "Open it in the dashboard",
        footer=_ACCOUNT_FOOTER if is_about_account else "Every operator of the shop receives this e-mail.",
    )
    path = "/admin/account" if is_about_account else f"{notice.page}/{event.subject_id}"
    content = MailContent(variables={}, url=f"{public_url.rstrip('/')}{path}" if public_url else None)
    mail = build_mail(shared.shop, outbox_mail, blocks, content, public_url, f"Dashboard of {shared.shop.name}")
    return RenderedMail(mail, None, is_fresh=True)


async def _render_invitation(
    shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail, site_url: str | None
) -> RenderedMail | None:
    link = await operator_links.find_invitation(db, outbox_mail.ref_id)
    if link is None or link.key_id not in shared.keys:
        return None
    secret = invitation_secret(shared.keys, link.key_id, link.id)
    ending = "Use the button to choose your password." if site_url else "Ask the person who invited you for the link."
    blocks = MailBlocks(
        subject=f"You are invited to the dashboard of {shared.shop.name}",
        heading=f"Welcome to {shared.shop.name}",
        body=f"You are invited to work in the dashboard of {shared.shop.name}. {ending}\n\n"
        f"The link works once, until {format_time(link.expires_at, shared.shop.zone)}.",
        button="Choose a password",
        footer="If you did not expect this e-mail, ignore it: nothing happens without the link.",
    )
    content = MailContent(variables={}, url=f"{site_url.rstrip('/')}/admin/join/{secret}" if site_url else None)
    mail = build_mail(shared.shop, outbox_mail, blocks, content, site_url, f"Dashboard of {shared.shop.name}")
    return RenderedMail(mail, None, is_fresh=link.is_usable)
