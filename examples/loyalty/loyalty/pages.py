"""What customers and operators see: the endpoint of the storefront, the panel and the page of the dashboard."""

from decimal import Decimal

import msgspec

from loyalty.points import PointsChange, change_balance, count_worth
from loyalty.tables import COUNT_ACCOUNTS, FIND_ACCOUNT, LIST_ACCOUNTS, LIST_ENTRIES
from shop.extension import (
    DashboardForm,
    DashboardPage,
    ExtensionContext,
    ExtensionRequest,
    MenuLink,
    OrderPanel,
    OrderSummary,
    PageContent,
    PageRedirect,
    StorefrontEndpoint,
    new_id,
)

PAGE_SIZE = 20
MAX_POINTS = 1_000_000
NOTICES = {"granted": "Points granted."}


class PointsBalance(msgspec.Struct, frozen=True):
    """The points of the signed-in customer."""

    points: int
    worth: Decimal
    """What they pay, in units of the currency."""


async def show_balance(ctx: ExtensionContext, request: ExtensionRequest) -> PointsBalance:
    account = await ctx.one(FIND_ACCOUNT, user_id=request.user_id)
    points = account.balance if account else 0
    return PointsBalance(points, count_worth(ctx.settings, max(points, 0)))


async def show_order(ctx: ExtensionContext, order: OrderSummary) -> PageContent | None:
    entries = await ctx.all(LIST_ENTRIES, order_number=order.number)
    return PageContent("order_panel.html", {"entries": entries}) if entries else None


async def show_accounts(ctx: ExtensionContext, request: ExtensionRequest) -> PageContent:
    return await _accounts_page(ctx, request, {})


async def _accounts_page(
    ctx: ExtensionContext, request: ExtensionRequest, errors: dict[str, list[str]], status: int = 200
) -> PageContent:
    count = await ctx.one(COUNT_ACCOUNTS) or 0
    text = request.params.get("page", "1")
    number = min(
        max(int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1, 1), -(-count // PAGE_SIZE) or 1
    )
    rows = await ctx.all(LIST_ACCOUNTS, most=PAGE_SIZE, skip=(number - 1) * PAGE_SIZE)
    values = {
        "accounts": [(row, await ctx.find_customer(row.user_id)) for row in rows],
        "count": count,
        "page": number,
        "has_next": number * PAGE_SIZE < count,
        "form_id": request.fields.get("form_id") or new_id(),
        "fields": request.fields,
        "errors": errors,
        "settings": ctx.settings,
    }
    return PageContent("accounts.html", values, status)


async def grant_points(ctx: ExtensionContext, request: ExtensionRequest) -> PageContent | PageRedirect:
    """Grants points; the id of the form makes a repeated submit harmless."""
    email, text = request.fields.get("email", "").strip(), request.fields.get("points", "").strip()
    customer = await ctx.find_customer(email)
    points = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    errors = {} if customer else {"email": ["is not the address of a customer"]}
    if not 1 <= points <= MAX_POINTS:
        errors["points"] = [f"must be a whole number from 1 to {MAX_POINTS:,}"]
    if errors or customer is None:
        return await _accounts_page(ctx, request, errors, 422)
    key = f"granted:{request.fields.get('form_id', '')[:40]}"
    change = PointsChange(user_id=customer.id, key=key, order_number="", reason="granted", points=points)
    await change_balance(ctx, change)
    return PageRedirect(notice="granted")


ENDPOINT = StorefrontEndpoint(
    path="points", handler=show_balance, summary="Show the points of the customer", shows=PointsBalance
)
PANEL = OrderPanel(title="Loyalty points", handler=show_order)
PAGE = DashboardPage(handler=show_accounts, summary="Loyalty points", permission="customers:read", notices=NOTICES)
FORM = DashboardForm(path="grant", handler=grant_points, summary="Grant loyalty points", permission="customers:write")
MENU = MenuLink("Loyalty points")
