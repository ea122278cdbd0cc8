"""The page where a shopper confirms a test card payment, in place of a bank's page. Only in a try-out."""

import secrets
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shop.actions.context import Context
from shop.actions.payments.test_card import decide_confirmation, get_confirmation
from shop.base.config.settings import is_loopback
from shop.base.errors import Invalid
from shop.base.money import money_text
from shop.gateways.test_card import CONFIRM_PATH, Decision
from shop.web.input.request import Request
from shop.web.reply import NO_STORE, Reply, html_reply, json_reply, page_policy

_DECISIONS: dict[str, Decision] = {"confirm": "confirmed", "decline": "declined"}
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


async def show(request: Request, ctx: Context) -> Reply:
    confirmation = await get_confirmation(ctx, request.path_params["client_secret"])
    return_url, nonce = _return_url(request, ctx), secrets.token_urlsafe(16)
    body = _templates.get_template("test_card.html").render(
        shop=ctx.shared.shop.name,
        confirmation=confirmation,
        amount=money_text(confirmation.currency, ctx.shared.shop.default_locale)(confirmation.amount),
        return_url=return_url,
        nonce=nonce,
    )
    # Browsers also apply form-action to the redirect after the form.
    form_action = f"'self' {_origin(return_url)}" if return_url else "'self'"
    return msgspec.structs.replace(html_reply(body, nonce), policy=page_policy(nonce, form_action))


async def decide(request: Request, ctx: Context) -> Reply:
    """Records the decision. A form gets a redirect, JSON the decision in effect."""
    client_secret = request.path_params["client_secret"]
    decision = _DECISIONS.get(str(request.params.get("decision")))
    if decision is None:
        raise Invalid({"decision": [f"must be one of {', '.join(_DECISIONS)}"]})
    outcome = await decide_confirmation(ctx, client_secret, decision)
    if not request.is_form:
        return json_reply({"decision": outcome})
    target = _return_url(request, ctx) or f"{CONFIRM_PATH}/{client_secret}"
    return Reply(303, headers=((b"location", target.encode()), NO_STORE))


def _return_url(request: Request, ctx: Context) -> str | None:
    """Returns the return URL, if it is on this machine or on an allowed CORS origin; otherwise None."""
    url = request.params.get("return_url")
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or set(url) & set(" \\"):
        return None
    try:
        parts = urlsplit(url)
        is_known = is_loopback(parts.hostname or "") or _origin(url) in ctx.shared.settings.cors_origins
    except ValueError:
        return None
    return url if is_known and parts.scheme in {"http", "https"} and "@" not in parts.netloc else None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
