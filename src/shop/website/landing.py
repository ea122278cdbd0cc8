"""The landing page of a shop whose website is off: links for developers and operators."""

from shop.actions.context import Context
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import page_values
from shop.website.pages import html_page, render


async def show(request: Request, ctx: Context) -> Reply:
    setting = ctx.shared.settings.mailbox
    has_mailbox = setting == "on" or (setting is None and ctx.is_try_out)
    values = {**page_values(ctx.shared, request), "header": "", "footer": "", "has_mailbox": has_mailbox}
    return html_page(request, render(ctx.shared, "landing.html", title="Welcome", **values))
