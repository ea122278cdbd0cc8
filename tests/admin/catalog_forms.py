"""Things of the catalogue for the dashboard's tests, made with its own forms; and what its pages say."""

import html
import re
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import httpx
from PIL import Image

from tests.admin.dashboard import SAME_ORIGIN, Desk

PRODUCTS, STOCK, LISTS, GROUPS, TAXONS = (
    "/admin/products",
    "/admin/stock",
    "/admin/price-lists",
    "/admin/customer-groups",
    "/admin/taxons",
)


def mark() -> str:
    """A word that nothing else has."""
    return f"x{uuid4().hex[:10]}"


def done(answer: httpx.Response) -> str:
    """What a form that was taken says it did."""
    assert answer.status_code == 303, said(answer)
    return answer.headers["location"].partition("?done=")[2].partition("#")[0]


def place(answer: httpx.Response) -> str:
    """Where a form that was taken leads."""
    assert answer.status_code == 303, said(answer)
    return str(answer.headers["location"].partition("?")[0])


def said(answer: httpx.Response) -> list[str]:
    """What a refused form is told, each once."""
    match = re.search(r'<div class="summary".*?</div>', answer.text, re.DOTALL)
    return [html.unescape(text) for text in re.findall(r">([^<>]+)</a></li>", match[0])] if match else []


def field(page: str, name: str) -> str:
    """What stands in a field."""
    match = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*?value="([^"]*)"', page)
    if match is None:
        match = re.search(rf'<textarea[^>]*name="{re.escape(name)}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert match, name
    return html.unescape(match[1])


async def new_product(desk: Desk, **fields: str) -> str:
    """Its address."""
    form = {"name": f"Mug {mark()}", "price": "24.00", "sku": mark(), "status": "active", **fields}
    return place(await desk.post(f"{PRODUCTS}/new", **form))


def id_of(address: str) -> UUID:
    return UUID(address.rpartition("/")[2])


async def new_options(desk: Desk, product: str, db: Any, **values: str) -> dict[str, tuple[str, list[str]]]:
    """Options of a product with values, by their names: the id of the type, and those of the values."""
    options: dict[str, tuple[str, list[str]]] = {}
    for name, text in values.items():
        label = f"{name} {mark()}"
        type_ids = [kind for kind, _ in options.values()]
        done(await desk.post(f"{product}/options", **{"option_type_ids[]": type_ids, "new_type": label}))
        type_id = str(await db.fetchval("select id from option_types where presentation = $1", label))
        fields = {"option_type_ids[]": [*type_ids, type_id], f"values[{type_id}]": text}
        done(await desk.post(f"{product}/options", **fields))
        rows = await db.fetch("select id from option_values where option_type_id = $1 order by position", UUID(type_id))
        options[name] = type_id, [str(row["id"]) for row in rows]
    return options


async def new_variants(desk: Desk, db: Any) -> tuple[str, list[str]]:
    """A product with two variants: its address, and their SKUs."""
    product, prefix = await new_product(desk), mark()
    (kind, values), *_ = (await new_options(desk, product, db, Colour="Red, Blue")).values()
    fields = {f"values[{kind}][]": values, "sku_prefix": prefix, "each_price": "20.00"}
    assert done(await desk.post(f"{product}/variants/generate", **fields)) == "generated"
    return product, [f"{prefix}-RED", f"{prefix}-BLUE"]


async def new_list(desk: Desk, **fields: str) -> str:
    form = {"name": f"List {mark()}", "currency": "USD", "priority": "1", **fields}
    return place(await desk.post(f"{LISTS}/new", **form))


async def new_customer(db: Any) -> str:
    """The e-mail address of somebody who is a customer."""
    email = f"{uuid4().hex}@customers.example"
    insert = "insert into users (id, email, email_key, created_at, updated_at) values ($1, $2, $2, now(), now())"
    await db.execute(insert, uuid4(), email)
    return email


async def new_location(desk: Desk, db: Any) -> str:
    name = f"Place {mark()}"
    done(await desk.post(f"{STOCK}/locations", name=name))
    return str(await db.fetchval("select id from stock_locations where name = $1", name))


def picture(colour: str = "#56704f", size: tuple[int, int] = (640, 480)) -> bytes:
    data = BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


async def upload(desk: Desk, path: str, *files: bytes, **fields: str) -> httpx.Response:
    parts = [("files", (f"{number}.png", data, "image/png")) for number, data in enumerate(files)]
    form = {"csrf": await desk.csrf(), **fields}
    return await desk.http.post(path, data=form, files=parts, headers={**desk.cookie, **SAME_ORIGIN})
