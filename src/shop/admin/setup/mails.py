"""The pages of the e-mails to customers: which are sent, and their texts with a preview."""

from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.operations import mail_previews
from shop.actions.setup import mails
from shop.actions.setup.shop import get_shop
from shop.admin.fields import Fields
from shop.admin.listing import ListHead
from shop.admin.pages import PageContext, bare_page, join_errors, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.setup.mails import NO_MAIL_SETTINGS, MailSettings
from shop.rules.mail.definitions import DEFINITIONS
from shop.rules.mail.templates import FILTERS, MAX_LENGTHS
from shop.web.input.request import Request
from shop.web.reply import DASHBOARD_HEADERS, HTML, NO_STORE, Reply

PATH = "/admin/settings/mails"
LABELS = {"subject": "Subject", "heading": "Heading", "body": "Body", "button": "Button", "footer": "Footer"}
_NOTICES = {
    "saved": "Saved.",
    "reset": "The default texts are restored.",
    "tested": "A test is on its way to your e-mail address.",
}


async def listing(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    shop = await get_shop(ctx)
    rows = [(definition, shop.mail_settings(kind)) for kind, definition in DEFINITIONS.items()]
    return page("setup/mails.html", page_context, rows=rows, head=ListHead(len(rows)))


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _page(request, ctx, page_context, None, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields, kind = Fields(request), request.path_params["kind"]
    settings = MailSettings(is_on=fields.flag("is_on"), texts=_read_texts(fields))
    try:
        await mails.change_mail(ctx, kind, settings, _version(fields))
    except Invalid as error:
        return await _page(request, ctx, page_context, settings, 422, errors=error.errors)
    except Conflict as conflict:
        return await _page(request, ctx, page_context, settings, 409, conflict=conflict.sentence)
    return redirect(f"{PATH}/{kind}?done=saved")


async def reset(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    kind = request.path_params["kind"]
    try:
        await mails.reset_mail(ctx, kind, _version(Fields(request)))
    except Conflict as conflict:
        return await _page(request, ctx, page_context, None, 409, conflict=conflict.sentence)
    return redirect(f"{PATH}/{kind}?done=reset")


async def send_test(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    kind = request.path_params["kind"]
    await mail_previews.send_test(ctx, kind, page_context.operator_session.operator)
    return redirect(f"{PATH}/{kind}?done=tested")


async def preview_saved(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _preview(request, ctx, page_context, None)


async def preview_edited(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _preview(request, ctx, page_context, _read_texts(Fields(request)))


def _preview(request: Request, ctx: Context, page_context: PageContext, texts: dict[str, str] | None) -> Reply:
    """Renders a document for the frame of the page: without scripts, and with images of this shop only."""
    try:
        html = mail_previews.preview_mail(ctx, request.path_params["kind"], texts, page_context.origin).html.encode()
        status = 200
    except Invalid as error:
        sentences = [join_errors(each, LABELS[name]) for name, each in error.errors.items()]
        html, status = bare_page("setup/mail_errors.html", sentences=sentences).body, 422
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src {page_context.origin}; frame-ancestors 'self'"
    headers = ((b"content-type", HTML), NO_STORE)
    return Reply(status, html, headers, f"{policy}; sandbox".encode(), DASHBOARD_HEADERS)


def _read_texts(fields: Fields) -> dict[str, str]:
    return {name: fields.texts[name].replace("\r\n", "\n").strip("\n") for name in LABELS if name in fields.texts}


def _version(fields: Fields) -> int:
    version = fields.whole("version")
    return -1 if version is None else version


async def _page(
    request: Request,
    ctx: Context,
    page_context: PageContext,
    form: MailSettings | None,
    status: int = 200,
    **values: Any,
) -> Reply:
    shop, definition = await get_shop(ctx), mails.get_definition(request.path_params["kind"])
    current = shop.mail_settings(definition.kind)
    reply = page(
        "setup/mail.html",
        page_context,
        status,
        **{"conflict": None, **values},
        definition=definition,
        version=shop.version,
        is_on=(form or current).is_on,
        is_edited=bool(current.texts),
        texts={**definition.texts(current), **(form or NO_MAIL_SETTINGS).texts},
        defaults=definition.texts(NO_MAIL_SETTINGS),
        labels=LABELS,
        lengths=MAX_LENGTHS,
        filters=FILTERS,
    )
    # The preview is a document of its own, in a frame.
    return msgspec.structs.replace(reply, policy=reply.policy + b"; frame-src 'self'")
