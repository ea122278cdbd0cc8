"""Integrity check page; the checks run on request."""

from shop.actions.context import Context
from shop.actions.operations.verify import NAMES, find_inconsistencies
from shop.admin.pages import PageContext, page
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/checks"
MAX_FINDINGS = 20
_TITLES = {
    "adjustment_total of orders": "Adjustment totals of orders",
    "promo_total of orders": "Discount totals of orders",
    "included_tax_total of orders": "Included taxes of orders",
    "additional_tax_total of orders": "Added taxes of orders",
    "frozen totals": "Totals of completed orders",
    "holds": "Reserved stock",
    "lookups of orders": "Search data of orders",
    "hours of orders": "Hours of the last change of orders",
    "lookups of stock": "Search data of stock",
    "lookups of sales": "Search data of sales",
    "lookups of attempts": "Payment attempts without a result",
}
"""What the checks are called for operators, where their names are internal."""


async def show(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return page("operations/checks.html", page_context, checks=NAMES, is_done=False)


async def run_checks(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Runs the checks. They read every order, so they run only on request."""
    checks = [(_title(name), problems) async for name, problems in find_inconsistencies(ctx.db)]
    checks.sort(key=lambda check: not check[1])
    problem_count = sum(len(problems) for _, problems in checks)
    return page(
        "operations/checks.html",
        page_context,
        checks=checks,
        problem_count=problem_count,
        is_done=True,
        most=MAX_FINDINGS,
    )


def _title(name: str) -> str:
    return _TITLES.get(name, name[:1].upper() + name[1:])
