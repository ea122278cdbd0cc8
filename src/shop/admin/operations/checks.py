"""Integrity check page; the checks run on request."""

from shop.actions.context import Context
from shop.actions.operations.verify import NAMES, verify
from shop.admin.pages import PageContext, page
from shop.web.input.request import Request
from shop.web.reply import Reply

HERE = "/admin/settings/checks"
MOST = 20


async def show(_request: Request, _ctx: Context, visit: PageContext) -> Reply:
    looks = [(name, None) for name in NAMES]
    return page("operations/checks.html", visit, looks=looks, wrong=0, is_done=False, most=MOST)


async def run_checks(_request: Request, ctx: Context, visit: PageContext) -> Reply:
    """Runs the checks. They read every order, so they run only on request."""
    looks = [(name, problems) async for name, problems in verify(ctx.db)]
    problem_count = sum(len(problems) for _, problems in looks)
    return page("operations/checks.html", visit, looks=looks, wrong=problem_count, is_done=True, most=MOST)
