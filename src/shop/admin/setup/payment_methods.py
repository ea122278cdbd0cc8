"""Pages for payment methods."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.setup.resources import PAYMENT_METHOD
from shop.admin.fields import Fields
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page
from shop.admin.setup.form import DISPLAYS, NOTICES, SetupForm, Values, list_all
from shop.base.record import Record
from shop.models.checkout.payments import BUILT_IN_METHODS, PaymentMethod
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/payments"
TYPES = {"check": "Check or transfer", "test_card": "Test card: no money is charged", "stripe": "Cards through Stripe"}
_SORTS = {
    "position": RowSort("Display order", lambda method: method.position),
    "name": RowSort("Name", lambda method: fold_text(method.name)),
    "type": RowSort("Type", lambda method: TYPES.get(method.type, method.type)),
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    rows = [each.row for each in await list_all(ctx, PAYMENT_METHOD, by="position")]
    # Store credit, cash and payment links cannot be configured.
    methods, head = sort_rows(request, PATH, [row for row in rows if row.id not in BUILT_IN_METHODS], _SORTS)
    types = _all_types(ctx, methods)
    context: Values = {"head": head, "types": types, "displays": DISPLAYS, "notice": notice_of(request, NOTICES)}
    unavailable_types = {method.type for method in methods if not ctx.can_pay_with(method.type)}
    return page("setup/payment_methods.html", page_context, methods=methods, closed=unavailable_types, **context)


def _types(ctx: Context) -> dict[str, str]:
    """Returns the types available for a new method; the test card only in a try-out."""
    types = {**TYPES, **ctx.shared.extensions.provider_labels}
    return {name: label for name, label in types.items() if name != "test_card" or ctx.can_pay_with(name)}


def _all_types(ctx: Context, methods: Iterable[PaymentMethod]) -> dict[str, str]:
    """Returns the types of these methods too; an extension that was removed leaves its own."""
    absent_types = {method.type: f"{method.type} (its extension is not installed)" for method in methods}
    return {**absent_types, **TYPES, **ctx.shared.extensions.provider_labels}


async def _read(fields: Fields, ctx: Context, method_id: UUID | None) -> Values:
    # The type is set once: one provider cannot refund what another captured.
    create_only_values = {} if method_id else {"type": fields.choice("type", _types(ctx))}
    return {
        **create_only_values,
        "name": fields.line("name", most=100, required=True),
        "description": fields.prose("description", most=1000) or None,
        "active": fields.flag("active"),
        "display_on": fields.choice("display_on", DISPLAYS),
        "auto_capture": fields.flag("auto_capture"),
        "position": fields.whole("position", least=0) or 0,
    }


async def _choices(ctx: Context, _page_context: PageContext, method: Record | None) -> Values:
    return {"types": _all_types(ctx, [method.row]) if method else _types(ctx), "displays": DISPLAYS}


_DEFAULTS: dict[str, Any] = {
    "name": "",
    "type": "check",
    "description": "",
    "active": True,
    "display_on": "both",
    "auto_capture": False,
    "position": "0",
}
FORM = SetupForm(
    actions=PAYMENT_METHOD,
    noun="payment method",
    base=PATH,
    home=(PATH, "Payments"),
    template="setup/payment_method.html",
    labels={
        "name": "Name",
        "type": "Type",
        "description": "Description",
        "display_on": "Available in",
        "position": "Position",
    },
    defaults=_DEFAULTS,
    read=_read,
    choices=_choices,
    delete_note="It will no longer be offered. Existing payments will remain and can still be refunded.",
    required_ids=BUILT_IN_METHODS,
)
