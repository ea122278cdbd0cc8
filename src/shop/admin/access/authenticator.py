"""The authenticator of an operator's account and its recovery codes: set up, replaced, removed."""

from typing import Any

import segno
from markupsafe import Markup

from shop.actions.access import operators
from shop.actions.access.operators import Enrolment
from shop.actions.context import Context
from shop.admin.access.account import HERE
from shop.admin.pages import Visit, page, redirect
from shop.admin.session import form, typed_code
from shop.base.errors import Invalid
from shop.rules.access.operators import authenticator_text, authenticator_uri
from shop.web.reply import Reply
from shop.web.request import Request

_CURRENT = "current_code"
_REMOVAL: dict[str, Any] = {
    "title": "Remove the authenticator?",
    "sentence": "Your password alone will be enough to sign in. Your recovery codes stop working, your other sessions "
    "end, and you are told by e-mail.",
    "button": "Remove it",
    "is_dangerous": True,
}
_NEW_CODES: dict[str, Any] = {
    "title": "New recovery codes",
    "sentence": "Ten new codes are made, and the ones you have stop working.",
    "button": "Make new codes",
    "is_dangerous": False,
}


async def show(_request: Request, ctx: Context, visit: Visit) -> Reply:
    return _enrolment(visit, operators.new_enrolment(ctx, visit.who.operator))


async def enrol(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = form(request)
    offered = operators.new_enrolment(ctx, visit.who.operator, fields.get("sealed", ""))
    current = typed_code(fields, _CURRENT)
    try:
        codes = await operators.enrol_totp(ctx, visit.who, offered.sealed, fields.get("code", ""), current)
    except Invalid as wrong:
        return _enrolment(visit, offered, 422, wrong.errors)
    return _show_once(visit, codes, "The authenticator is on, and your other sessions are ended.")


async def show_removal(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    return page("second_factor.html", visit, **_REMOVAL)


async def remove(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        await operators.remove_totp(ctx, visit.who, typed_code(form(request), _CURRENT))
    except Invalid as wrong:
        return page("second_factor.html", visit, 422, errors=wrong.errors, **_REMOVAL)
    return redirect(f"{HERE}?done=removed")


async def show_recovery_codes(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    return page("second_factor.html", visit, **_NEW_CODES)


async def replace_recovery_codes(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        codes = await operators.new_recovery_codes(ctx, visit.who, typed_code(form(request), _CURRENT))
    except Invalid as wrong:
        return page("second_factor.html", visit, 422, errors=wrong.errors, **_NEW_CODES)
    return _show_once(visit, codes, "The old codes no longer work.")


def _show_once(visit: Visit, codes: list[str], sentence: str) -> Reply:
    """The response itself holds the codes: there is no address at which they could be read again."""
    return page("recovery_codes.html", visit, codes=codes, sentence=sentence)


def _enrolment(visit: Visit, offered: Enrolment, status: int = 200, errors: object = None) -> Reply:
    uri = authenticator_uri(offered.secret, email=visit.who.operator.email, shop=visit.shop.name)
    text = authenticator_text(offered.secret)
    return page(
        "authenticator.html",
        visit,
        status,
        # Drawn by the library from the address alone: paths and numbers, no text of anybody's.
        drawing=Markup(segno.make(uri, error="m").svg_inline(omitsize=True, border=2)),  # noqa: S704
        text=" ".join(text[at : at + 4] for at in range(0, len(text), 4)),
        sealed=offered.sealed,
        errors=errors or {},
    )
