"""Whether everything adds up, looked at when somebody asks."""

from shop.actions.context import Context
from shop.actions.operations.verify import NAMES, verify
from shop.admin.pages import Visit, page
from shop.web.reply import Reply
from shop.web.request import Request

HERE = "/admin/settings/checks"
MOST = 20


async def show(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    looks = [(name, None) for name in NAMES]
    return page("checks.html", visit, looks=looks, wrong=0, is_done=False, most=MOST)


async def look(_request: Request, ctx: Context, visit: Visit) -> Reply:
    """It reads every order, so nobody is shown it unasked."""
    looks = [(name, found) async for name, found in verify(ctx.db)]
    wrong = sum(len(found) for _, found in looks)
    return page("checks.html", visit, looks=looks, wrong=wrong, is_done=True, most=MOST)
