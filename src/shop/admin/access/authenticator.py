"""Pages to set up and remove an operator's authenticator (TOTP) and to replace its recovery codes."""

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from shop.actions.access import operators
from shop.actions.access.operators import Enrollment
from shop.actions.context import Context
from shop.admin.access.account import PATH
from shop.admin.pages import PageContext, page, redirect
from shop.admin.session import form, get_submitted_code
from shop.base.errors import Invalid
from shop.base.lazy_modules import LazyModule
from shop.rules.access.operators import authenticator_text, authenticator_uri
from shop.web.input.request import Request
from shop.web.reply import Reply

if TYPE_CHECKING:
    import segno
else:
    segno = LazyModule("segno")

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


async def show(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _enrollment(page_context, operators.new_enrollment(ctx, page_context.operator_session.operator))


async def enroll(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = form(request)
    enrollment = operators.new_enrollment(ctx, page_context.operator_session.operator, fields.get("sealed", ""))
    current = get_submitted_code(fields, _CURRENT)
    try:
        codes = await operators.enroll_totp(
            ctx, page_context.operator_session, enrollment.sealed, fields.get("code", ""), current
        )
    except Invalid as error:
        return _enrollment(page_context, enrollment, 422, error.errors)
    return _show_once(page_context, codes, "Authenticator turned on. Your other sessions have ended.")


async def show_removal(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return page("access/second_factor.html", page_context, **_REMOVAL)


async def remove(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    try:
        await operators.remove_totp(ctx, page_context.operator_session, get_submitted_code(form(request), _CURRENT))
    except Invalid as error:
        return page("access/second_factor.html", page_context, 422, errors=error.errors, **_REMOVAL)
    return redirect(f"{PATH}?done=removed")


async def show_recovery_codes(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return page("access/second_factor.html", page_context, **_NEW_CODES)


async def replace_recovery_codes(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    try:
        codes = await operators.new_recovery_codes(
            ctx, page_context.operator_session, get_submitted_code(form(request), _CURRENT)
        )
    except Invalid as error:
        return page("access/second_factor.html", page_context, 422, errors=error.errors, **_NEW_CODES)
    return _show_once(page_context, codes, "The old codes no longer work.")


def _show_once(page_context: PageContext, codes: list[str], sentence: str) -> Reply:
    """Returns the codes in the response body, because no URL shows them again."""
    return page("access/recovery_codes.html", page_context, codes=codes, sentence=sentence)


def _enrollment(page_context: PageContext, enrollment: Enrollment, status: int = 200, errors: object = None) -> Reply:
    uri = authenticator_uri(
        enrollment.secret, email=page_context.operator_session.operator.email, shop=page_context.shop.name
    )
    text = authenticator_text(enrollment.secret)
    return page(
        "access/authenticator.html",
        page_context,
        status,
        # Safe markup: the library renders the URI as SVG paths and never copies text into it.
        qr_code=Markup(segno.make(uri, error="m").svg_inline(omitsize=True, border=2)),  # noqa: S704
        text=" ".join(text[at : at + 4] for at in range(0, len(text), 4)),
        uri=uri,
        sealed=enrollment.sealed,
        errors=errors or {},
    )
