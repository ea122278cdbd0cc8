"""Pages to set up and remove an operator's authenticator (TOTP) and to replace its recovery codes."""

from typing import Any

import segno
from markupsafe import Markup

from shop.actions.access import operators
from shop.actions.access.operators import Enrolment
from shop.actions.context import Context
from shop.admin.access.account import HERE
from shop.admin.pages import PageContext, page, redirect
from shop.admin.session import form, get_submitted_code
from shop.base.errors import Invalid
from shop.rules.access.operators import authenticator_text, authenticator_uri
from shop.web.input.request import Request
from shop.web.reply import Reply

_CURRENT = "current_code"
_REMOVAL: dict[str, Any] = {
    "title": "Remove the authenticator?",
    "sentence": "Your password alone will be enough to sign in. Your recovery codes stop working, your other sessions "
    "end, and you receive an e-mail.",
    "button": "Remove authenticator",
    "is_dangerous": True,
}
_NEW_CODES: dict[str, Any] = {
    "title": "New recovery codes",
    "sentence": "You get ten new codes, and your current ones stop working.",
    "button": "Create new codes",
    "is_dangerous": False,
}


async def show(_request: Request, ctx: Context, visit: PageContext) -> Reply:
    return _enrolment(visit, operators.new_enrolment(ctx, visit.who.operator))


async def enrol(request: Request, ctx: Context, visit: PageContext) -> Reply:
    fields = form(request)
    enrolment = operators.new_enrolment(ctx, visit.who.operator, fields.get("sealed", ""))
    current = get_submitted_code(fields, _CURRENT)
    try:
        codes = await operators.enrol_totp(ctx, visit.who, enrolment.sealed, fields.get("code", ""), current)
    except Invalid as error:
        return _enrolment(visit, enrolment, 422, error.errors)
    return _show_once(visit, codes, "Authenticator turned on. Your other sessions have ended.")


async def show_removal(_request: Request, _ctx: Context, visit: PageContext) -> Reply:
    return page("access/second_factor.html", visit, **_REMOVAL)


async def remove(request: Request, ctx: Context, visit: PageContext) -> Reply:
    try:
        await operators.remove_totp(ctx, visit.who, get_submitted_code(form(request), _CURRENT))
    except Invalid as error:
        return page("access/second_factor.html", visit, 422, errors=error.errors, **_REMOVAL)
    return redirect(f"{HERE}?done=removed")


async def show_recovery_codes(_request: Request, _ctx: Context, visit: PageContext) -> Reply:
    return page("access/second_factor.html", visit, **_NEW_CODES)


async def replace_recovery_codes(request: Request, ctx: Context, visit: PageContext) -> Reply:
    try:
        codes = await operators.new_recovery_codes(ctx, visit.who, get_submitted_code(form(request), _CURRENT))
    except Invalid as error:
        return page("access/second_factor.html", visit, 422, errors=error.errors, **_NEW_CODES)
    return _show_once(visit, codes, "The old codes no longer work.")


def _show_once(visit: PageContext, codes: list[str], sentence: str) -> Reply:
    """Returns the codes in the response body, because no URL shows them again."""
    return page("access/recovery_codes.html", visit, codes=codes, sentence=sentence)


def _enrolment(visit: PageContext, enrolment: Enrolment, status: int = 200, errors: object = None) -> Reply:
    uri = authenticator_uri(enrolment.secret, email=visit.who.operator.email, shop=visit.shop.name)
    text = authenticator_text(enrolment.secret)
    return page(
        "access/authenticator.html",
        visit,
        status,
        # Safe markup: the library renders the URI as SVG paths and never copies text into it.
        qr_code=Markup(segno.make(uri, error="m").svg_inline(omitsize=True, border=2)),  # noqa: S704
        text=" ".join(text[at : at + 4] for at in range(0, len(text), 4)),
        sealed=enrolment.sealed,
        errors=errors or {},
    )
