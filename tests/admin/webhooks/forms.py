"""Creates webhook endpoints with the dashboard's form, and reads its pages."""

import html
import re
from typing import Any
from uuid import UUID

import httpx2
import msgspec

from shop.base.ids import new_id
from tests.admin.dashboard import Dashboard
from tests.secret_leaks import record_secret
from tests.webhooks.receiver import wait_until

PATH = "/admin/integrations/webhooks"
SECRET = re.compile(r"whsec_[0-9A-Za-z+/]{43}=")


class FormEndpoint(msgspec.Struct, frozen=True):
    """An endpoint that was created with the form."""

    id: UUID
    path: str
    secret: str
    page: httpx2.Response
    """The page that shows the secret."""


def form_fields(url: str, *types: str, **fields: Any) -> dict[str, Any]:
    return {"url": url, "description": "", "scope": "chosen", "types[]": list(types), "fields": "", **fields}


async def create_endpoint(dashboard: Dashboard, url: str, *types: str, **fields: Any) -> FormEndpoint:
    endpoint_id = new_id()
    values = form_fields(url, *(types or ("tax_category.*",)), **fields)
    page = await dashboard.post(f"{PATH}/new", id=str(endpoint_id), **values)
    assert page.status_code == 200, page.text
    secret = record_secret(text_of(page, "webhook-secret"))
    return FormEndpoint(endpoint_id, f"{PATH}/{endpoint_id}", secret, page)


def text_of(page: httpx2.Response, element_id: str) -> str:
    match = re.search(rf'id="{element_id}"[^>]*>([^<]*)<', page.text)
    assert match, page.text
    return html.unescape(match[1])


def visible_text(page: httpx2.Response) -> str:
    """The text of the page's main part, without tags and with single spaces."""
    main = page.text.partition("<main")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main.partition(">")[2])).split())


async def newest_delivery(db: Any, endpoint: FormEndpoint, state: str) -> str:
    """Waits for a delivery in this state; returns the path of its page."""
    query = "select id from webhook_deliveries where endpoint_id = $1 and state = $2 order by id desc limit 1"
    await wait_until(db, f"exists ({query})", endpoint.id, state)
    return f"{endpoint.path}/deliveries/{await db.fetchval(query, endpoint.id, state)}"
