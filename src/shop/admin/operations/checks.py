"""Integrity check page; the checks run on request."""

from shop.actions.context import Context
from shop.actions.operations.verify import NAMES, find_inconsistencies
from shop.admin.pages import PageContext, page
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/checks"
MAX_FINDINGS = 20


async def show(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    checks = [(name, None) for name in NAMES]
    return page(
        "operations/checks.html", page_context, checks=checks, problem_count=0, is_done=False, most=MAX_FINDINGS
    )


async def run_checks(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Runs the checks. They read every order, so they run only on request."""
    checks = [(name, problems) async for name, problems in find_inconsistencies(ctx.db)]
    problem_count = sum(len(problems) for _, problems in checks)
    return page(
        "operations/checks.html",
        page_context,
        checks=checks,
        problem_count=problem_count,
        is_done=True,
        most=MAX_FINDINGS,
    )
