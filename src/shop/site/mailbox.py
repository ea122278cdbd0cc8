"""The mailbox of a shop without a mail server: a page for people, and the same as JSON."""

import secrets
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shop.actions.context import Context
from shop.actions.operations.mail_templates import write_letter
from shop.base.errors import NotFound
from shop.queries.operations import outbox
from shop.web.reply import Reply, html_reply, json_reply
from shop.web.request import Request

MOST = 50
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


class Received(msgspec.Struct, frozen=True):
    """A mail as the mailbox shows it; rendered when it is read."""

    to: str
    subject: str
    text: str
    html: str
    sent_at: str
    code: str | None


async def listing(request: Request, ctx: Context) -> Reply:
    to = request.params.get("to")
    return json_reply(await _received(ctx, to if isinstance(to, str) and to else None))


async def page(_request: Request, ctx: Context) -> Reply:
    mails = await _received(ctx, None)
    nonce = secrets.token_urlsafe(16)
    body = _templates.get_template("mailbox.html").render(mails=mails, nonce=nonce, shop=ctx.shared.shop.name)
    return html_reply(body, nonce)


def _is_open(ctx: Context) -> bool:
    """Without being asked for only to requests of a try-out, because it shows everybody's codes."""
    setting = ctx.shared.settings.mailbox
    return setting == "on" or (setting is None and ctx.is_try_out)


async def _received(ctx: Context, to: str | None) -> list[Received]:
    if not _is_open(ctx):
        raise NotFound("There is no such address.")
    found = []
    for queued in await outbox.list_newest(ctx.db, to=to, most=MOST):
        letter = await write_letter(ctx.shared, ctx.db, queued)
        if letter:
            mail = letter.mail
            sent_at = queued.created_at.isoformat(timespec="milliseconds")[:-6] + "Z"
            found.append(Received(mail.recipient, mail.subject, mail.text, mail.html, sent_at, letter.code))
    return found
