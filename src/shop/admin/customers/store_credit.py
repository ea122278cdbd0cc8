"""Store credit pages of a customer: ledger, grant and withdraw."""

from decimal import Decimal
from typing import Any

from shop.actions import records
from shop.actions.checkout import workflow
from shop.actions.context import Context
from shop.actions.promotions.resources import STORE_CREDIT
from shop.admin.customers.customer_form import PATH, get_customer
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, ListHead, count_list, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import IdempotencyKeyConflict, InFlight, Invalid, NotFound
from shop.base.ids import as_uuid, new_id
from shop.models.access.users import AccountUser
from shop.models.checkout.store_credit import StoreCredit
from shop.queries.checkout import store_credit_pages as credit_pages
from shop.rules.setup.names import label_currency
from shop.web.idempotency import build_form_key
from shop.web.input.request import Request
from shop.web.reply import Reply

MAX_REASON_LENGTH = 255
LABELS = {"amount": "Amount", "currency": "Currency", "memo": "Reason", "reason": "Reason", "base": "The grant"}
_GRANTED_BEFORE = "This form granted another store credit already. Press the button again to grant this one too."
_NOTICES = {
    "granted": "Store credit granted.",
    "withdrawn": "Store credit withdrawn.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, before = await get_customer(request, ctx), as_uuid(text_param(request, "before"))
    lines = await credit_pages.list_ledger(ctx.db, customer.id, before, most=SIZE + 1)
    here = _path_of(customer)
    count = await count_list(lines, before, lambda: credit_pages.count_ledger(ctx.db, customer.id))
    return page(
        "customers/store_credit.html",
        page_context,
        customer=customer,
        here=here,
        balances=await credit_pages.list_balances(ctx.db, customer.id),
        grants=await credit_pages.list_grants(ctx.db, customer.id),
        lines=lines[:SIZE],
        head=ListHead(count),
        older=f"{here}?before={lines[SIZE - 1].id}" if len(lines) > SIZE else None,
        newest=here if before else None,
        notice=notice_of(request, _NOTICES),
    )


async def new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    values = {"id": str(new_id()), "amount": "", "currency": "", "memo": ""}
    return _grant_page(page_context, await get_customer(request, ctx), values)


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, fields = await get_customer(request, ctx), Fields(request)
    try:
        currency = fields.choice("currency", dict.fromkeys(page_context.shop.currencies))
        amount = None if fields.errors else fields.amount("amount", currency, required=True)
        memo = fields.line("memo", most=MAX_REASON_LENGTH, required=True)
        fields.check()
        grant = {"user_id": customer.id, "amount": amount or Decimal(0), "currency": currency, "memo": memo}
        ctx.request_key = build_form_key(fields.id("id") or new_id(), page_context.operator_session.operator.id, grant)
        await records.create(ctx, STORE_CREDIT, grant)
    except (Invalid, InFlight) as error:
        texts = {name: fields.texts.get(name, "") for name in ("id", "amount", "currency", "memo")}
        errors: Any = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        if isinstance(error, IdempotencyKeyConflict):
            texts, errors = {**texts, "id": str(new_id())}, {"base": [_GRANTED_BEFORE]}
        return _grant_page(page_context, customer, texts, error.status, errors)
    return redirect(f"{_path_of(customer)}?done=granted")


async def show_withdraw(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _withdraw_page(page_context, *await _grant(request, ctx))


async def withdraw(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    (customer, credit), fields = await _grant(request, ctx), Fields(request)
    try:
        reason = fields.line("reason", most=MAX_REASON_LENGTH, required=True)
        fields.check()
        await workflow.withdraw_store_credit(ctx, credit.id, reason)
    except Invalid as error:
        errors = {"base": ["No credit remains to withdraw."]} if "base" in error.errors else error.errors
        return _withdraw_page(page_context, customer, credit, fields.texts.get("reason", ""), 422, errors)
    return redirect(f"{_path_of(customer)}?done=withdrawn")


def _path_of(customer: AccountUser) -> str:
    return f"{PATH}/{customer.id}/credit"


async def _grant(request: Request, ctx: Context) -> tuple[AccountUser, StoreCredit]:
    """Returns the customer and one of their grants; raises NotFound for another customer's grant."""
    customer = await get_customer(request, ctx)
    credit: StoreCredit = (await records.get(ctx, STORE_CREDIT, "id", id_of(request, "credit_id"), {})).row
    if credit.user_id != customer.id:
        raise NotFound()
    return customer, credit


def _grant_page(
    page_context: PageContext, customer: AccountUser, values: dict[str, str], status: int = 200, errors: Any = None
) -> Reply:
    currencies = {code: label_currency(code) for code in page_context.shop.currencies}
    context = {"customer": customer, "here": _path_of(customer), "currencies": currencies, "labels": LABELS}
    return page(
        "customers/store_credit_grant.html", page_context, status, **context, values=values, errors=errors or {}
    )


def _withdraw_page(
    page_context: PageContext,
    customer: AccountUser,
    credit: StoreCredit,
    reason: str = "",
    status: int = 200,
    errors: Any = None,
) -> Reply:
    context = {"customer": customer, "here": _path_of(customer), "credit": credit, "labels": LABELS}
    return page(
        "customers/store_credit_withdraw.html", page_context, status, **context, reason=reason, errors=errors or {}
    )
