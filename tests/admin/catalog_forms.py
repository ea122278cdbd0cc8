"""Creates catalog records with the dashboard's forms, and reads its pages."""

import html
import re
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import httpx2
from PIL import Image

from tests.admin.dashboard import SAME_ORIGIN, Dashboard

PRODUCTS, STOCK, LISTS, GROUPS, TAXONS = (
    "/admin/products",
    "/admin/stock",
    "/admin/price-lists",
    "/admin/customer-groups",
    "/admin/taxons",
)


def unique_word() -> str:
    """A random word that occurs nowhere else in the database."""
    return f"x{uuid4().hex[:10]}"


def saved_message(answer: httpx2.Response) -> str:
    """The result that an accepted form reports in its redirect."""
    assert answer.status_code == 303, error_messages(answer)
    return answer.headers["location"].partition("?done=")[2].partition("#")[0]


def redirect_path(answer: httpx2.Response) -> str:
    """The path that an accepted form redirects to."""
    assert answer.status_code == 303, error_messages(answer)
    return str(answer.headers["location"].partition("?")[0])


def error_messages(answer: httpx2.Response) -> list[str]:
    """The messages in the error summary of a refused form."""
    match = re.search(r'<div class="summary".*?</div>', answer.text, re.DOTALL)
    return [html.unescape(text) for text in re.findall(r">([^<>]+)</a></li>", match[0])] if match else []


def field(page: str, name: str) -> str:
    """The value of a field."""
    match = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*?value="([^"]*)"', page)
    if match is None:
        match = re.search(rf'<textarea[^>]*name="{re.escape(name)}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert match, name
    return html.unescape(match[1])


async def new_product(dashboard: Dashboard, **fields: str) -> str:
    """Creates a product; returns the path of its page."""
    form = {"name": f"Mug {unique_word()}", "sku": unique_word(), "status": "active", **fields}
    form["price-USD"] = form.pop("price", "24.00")
    return redirect_path(await dashboard.post(f"{PRODUCTS}/new", **form))


def id_of(address: str) -> UUID:
    return UUID(address.rpartition("/")[2])


async def new_options(dashboard: Dashboard, product: str, db: Any, **values: str) -> dict[str, tuple[str, list[str]]]:
    """Adds options with values to a product; returns the option type's id and the values' ids by option name."""
    options: dict[str, tuple[str, list[str]]] = {}
    for name, text in values.items():
        label = f"{name} {unique_word()}"
        type_ids = [kind for kind, _ in options.values()]
        saved_message(await dashboard.post(f"{product}/options", **{"option_type_ids[]": type_ids, "new_type": label}))
        type_id = str(await db.fetchval("select id from option_types where presentation = $1", label))
        fields = {"option_type_ids[]": [*type_ids, type_id], f"values[{type_id}]": text}
        saved_message(await dashboard.post(f"{product}/options", **fields))
        rows = await db.fetch("select id from option_values where option_type_id = $1 order by position", UUID(type_id))
        options[name] = type_id, [str(row["id"]) for row in rows]
    return options


async def new_variants(dashboard: Dashboard, db: Any) -> tuple[str, list[str]]:
    """Creates a product with two variants; returns the path of its page and the SKUs."""
    product, prefix = await new_product(dashboard), unique_word()
    (kind, values), *_ = (await new_options(dashboard, product, db, Color="Red, Blue")).values()
    fields = {f"values[{kind}][]": values, "sku_prefix": prefix, "each_price": "20.00"}
    assert saved_message(await dashboard.post(f"{product}/variants/generate", **fields)) == "generated"
    return product, [f"{prefix}-RED", f"{prefix}-BLUE"]


async def new_list(dashboard: Dashboard, **fields: str) -> str:
    form = {"name": f"List {unique_word()}", "currency": "USD", "priority": "1", **fields}
    return redirect_path(await dashboard.post(f"{LISTS}/new", **form))


async def new_customer(db: Any) -> str:
    """Creates a customer; returns the e-mail address."""
    email = f"{uuid4().hex}@customers.example"
    insert = "insert into users (id, email, email_key, created_at, updated_at) values ($1, $2, $2, now(), now())"
    await db.execute(insert, uuid4(), email)
    return email


async def new_location(dashboard: Dashboard, db: Any) -> str:
    name = f"Location {unique_word()}"
    saved_message(await dashboard.post(f"{STOCK}/locations", name=name))
    return str(await db.fetchval("select id from stock_locations where name = $1", name))


def image_data(color: str = "#56704f", size: tuple[int, int] = (640, 480)) -> bytes:
    data = BytesIO()
    Image.new("RGB", size, color).save(data, "PNG")
    return data.getvalue()


async def upload(dashboard: Dashboard, path: str, *files: bytes, **fields: str) -> httpx2.Response:
    parts = [("files", (f"{number}.png", data, "image/png")) for number, data in enumerate(files)]
    form = {"csrf": await dashboard.csrf(), **fields}
    return await dashboard.http.post(path, data=form, files=parts, headers={**dashboard.cookie, **SAME_ORIGIN})
