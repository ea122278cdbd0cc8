"""Renders e-mails when they are sent or viewed, so that no login code is stored in the database."""

import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shop.actions.context import Shared
from shop.actions.operations.order_mail import describe_order
from shop.db.pool import DatabaseSession
from shop.gateways.mail import Mail
from shop.models.access.sessions import LoginRequest
from shop.models.journal import OutboxMail
from shop.queries import journal
from shop.queries.access import login as login_queries
from shop.queries.cart import orders
from shop.rules.access.codes import login_code, shown_code
from shop.rules.access.operator_notices import NOTICES

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "mails"), autoescape=True, undefined=StrictUndefined
)
_plain = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "mails"),
    autoescape=False,  # noqa: S701  The text part of an e-mail is not HTML.
    undefined=StrictUndefined,
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
    in a shop without a public URL.
    """
    if outbox_mail.kind == "order_confirmation":
        return await _order_confirmation(shared, db, outbox_mail, shared.settings.public_url or base_url)
    return await _RENDERERS[outbox_mail.kind](shared, db, outbox_mail)


async def _order_confirmation(
    shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail, base_url: str | None
) -> RenderedMail | None:
    order = await orders.find_completed_order(db, outbox_mail.ref_id)
    if order is None:
        return None
    context = await describe_order(shared, db, order, base_url)
    mail = Mail(
        mark=str(outbox_mail.id),
        written_at=outbox_mail.created_at,
        recipient=outbox_mail.recipient,
        subject=f"Your order {order.number} at {shared.shop.name}",
        text=_plain.get_template("order_confirmation.txt").render(context),
        html=_templates.get_template("order_confirmation.html").render(context),
    )
    return RenderedMail(mail, None, is_fresh=True)


async def _login_code(shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail) -> RenderedMail | None:
    request = await login_queries.find_request(db, outbox_mail.ref_id)
    if request is None or request.key_id not in shared.keys:
        return None
    code = login_code(shared.keys, request.key_id, request.id, request.nonce, is_long=request.is_long)
    minutes = math.ceil((request.expires_at - request.created_at).total_seconds() / 60)
    context = {"shop": shared.shop.name, "shown": shown_code(code), "minutes": minutes}
    mail = Mail(
        mark=str(outbox_mail.id),
        written_at=outbox_mail.created_at,
        recipient=outbox_mail.recipient,
        # The code is not in the subject, because a locked screen shows subjects.
        subject=f"Your code for {shared.shop.name}",
        text=_plain.get_template("login_code.txt").render(context),
        html=_templates.get_template("login_code.html").render(context),
    )
    return RenderedMail(mail, code, _is_fresh(request, shared.shop.not_before))


async def _operator_notice(shared: Shared, db: DatabaseSession, outbox_mail: OutboxMail) -> RenderedMail | None:
    event = await journal.find_audit(db, outbox_mail.ref_id)
    if event is None or event.action not in NOTICES:
        return None
    notice, at = NOTICES[event.action], event.at.astimezone(UTC)
    public_url = shared.settings.public_url
    path = f"{notice.page}/{event.subject_id}" if notice.page else "/admin/account"
    context = {
        "shop": shared.shop.name,
        "email": outbox_mail.recipient,
        "subject": notice.subject,
        "body": notice.body.format(**event.detail),
        "at": f"{at.day} {at:%B %Y, %H:%M} UTC",
        "source": event.source or "the command line",
        "is_about_account": notice.page is None,
        "page_url": f"{public_url.rstrip('/')}{path}" if public_url else None,
    }
    mail = Mail(
        mark=str(outbox_mail.id),
        written_at=outbox_mail.created_at,
        recipient=outbox_mail.recipient,
        subject=f"{notice.subject} ({shared.shop.name})",
        text=_plain.get_template("operator_notice.txt").render(context),
        html=_templates.get_template("operator_notice.html").render(context),
    )
    return RenderedMail(mail, None, is_fresh=True)


async def _email_changed(shared: Shared, _db: DatabaseSession, outbox_mail: OutboxMail) -> RenderedMail:
    """Notifies the old address without revealing the new one."""
    context = {"shop": shared.shop.name}
    mail = Mail(
        mark=str(outbox_mail.id),
        written_at=outbox_mail.created_at,
        recipient=outbox_mail.recipient,
        subject=f"The e-mail address of your account at {shared.shop.name} was changed",
        text=_plain.get_template("email_changed.txt").render(context),
        html=_templates.get_template("email_changed.html").render(context),
    )
    return RenderedMail(mail, None, is_fresh=True)


def _is_fresh(request: LoginRequest, not_before: datetime | None) -> bool:
    is_void = not_before is not None and request.created_at < not_before
    return request.consumed_at is None and request.superseded_at is None and not is_void


_RENDERERS = {
    "email_changed": _email_changed,
    "login_code": _login_code,
    "operator_notice": _operator_notice,
}
