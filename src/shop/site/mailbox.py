"""The mailbox of a shop without a mail server, as a page and as JSON."""

import secrets
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shop.actions.context import Context
from shop.actions.operations.mail_templates import render_mail
from shop.base.errors import NotFound
from shop.gateways.mail import TemporaryMailError
from shop.queries.operations import outbox
from shop.web.input.request import Request
from shop.web.reply import Reply, html_reply, json_reply

MAX_MESSAGES = 50
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


class MailboxMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """An e-mail in the mailbox, rendered on read."""

    to: str
    subject: str
    text: str
    html: str
    sent_at: str
    code: str | None
    files: tuple[str, ...] = ()
    """The names of attached files, if there are any."""


async def listing(request: Request, ctx: Context) -> Reply:
    to = request.params.get("to")
    return json_reply(await _list_messages(request, ctx, to if isinstance(to, str) and to else None))


async def page(request: Request, ctx: Context) -> Reply:
    mails = await _list_messages(request, ctx, None)
    nonce = secrets.token_urlsafe(16)
    body = _templates.get_template("mailbox.html").render(mails=mails, nonce=nonce, shop=ctx.shared.shop.name)
    return html_reply(body, nonce)


def _is_open(ctx: Context) -> bool:
    """Returns whether the mailbox is open; by default only to try-out requests, because it shows all login codes."""
    setting = ctx.shared.settings.mailbox
    return setting == "on" or (setting is None and ctx.is_try_out)


async def _list_messages(request: Request, ctx: Context, to: str | None) -> list[MailboxMessage]:
    if not _is_open(ctx):
        raise NotFound("Not found.")
    messages, base_url = [], request.origin(ctx.shared.settings.public_url)
    for row in await outbox.list_newest(ctx.db, to=to, most=MAX_MESSAGES):
        try:
            letter = await render_mail(ctx.shared, ctx.db, row, base_url)
        except TemporaryMailError:
            continue  # An extension failed or is not installed; the e-mail waits.
        if letter:
            mail = letter.mail
            sent_at = row.created_at.isoformat(timespec="milliseconds")[:-6] + "Z"
            files = tuple(file.name for file in mail.files)
            message = MailboxMessage(mail.recipient, mail.subject, mail.text, mail.html, sent_at, letter.code, files)
            messages.append(message)
    return messages
