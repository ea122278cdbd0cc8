"""The personal data of a customer as a file."""

import msgspec

from shop.actions.archive.views import export_for_operator
from shop.actions.context import Context
from shop.admin.customers.customer_form import get_customer
from shop.admin.pages import PageContext
from shop.web.input.request import Request
from shop.web.reply import DASHBOARD_HEADERS, JSON, NO_STORE, Reply


async def export(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    personal_data = await export_for_operator(ctx, await get_customer(request, ctx))
    body = msgspec.json.format(msgspec.json.encode(personal_data), indent=2)
    disposition = (b"content-disposition", b'attachment; filename="personal-data.json"')
    return Reply(200, body, ((b"content-type", JSON), NO_STORE, disposition), security=DASHBOARD_HEADERS)
