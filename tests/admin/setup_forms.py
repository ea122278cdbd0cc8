"""Creates zones, taxes, shipping and payment methods with the dashboard's forms."""

import html
import json
import re
from typing import Any
from uuid import UUID

from tests.admin.catalog_forms import saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.builders import Make
from tests.checkout_builders import country_id

ZONES, TAXES, SHIPPING, PAYMENTS = (f"/admin/settings/{name}" for name in ("zones", "taxes", "shipping", "payments"))
CATEGORIES, METHODS = f"{SHIPPING}/categories", f"{SHIPPING}/methods"
DEFAULT_CATEGORY = "00000000-0000-7000-8000-000000000001"
POST = {"calculator": "flat", "display_on": "both", "amounts[USD]": "5.00"}
CHECK = {"type": "check", "display_on": "both", "active": "1", "position": "3"}


def shop_fields(page: str) -> dict[str, Any]:
    """The values of the form of the shop's settings, as a browser sends them."""
    inputs = re.findall(r'<input [^>]*?name="([a-z_]+)"[^>]*?value="([^"]*)"', page.partition("<main")[2])
    selects = re.findall(r'<select [^>]*?name="([a-z_]+)".*?value="([^"]*)" selected', page)
    currencies = re.findall(r'name="currencies\[\]"[^>]*value="([^"]*)"', page)
    fields = {name: html.unescape(text) for name, text in [*inputs, *selects] if name not in ("csrf", "q")}
    return {**fields, "currencies[]": [html.unescape(text) for text in currencies]}


async def new_record(dashboard: Dashboard, db: Any, base: str, table: str, **fields: Any) -> str:
    """Creates a record with a unique name by its form; returns its id."""
    name = fields.setdefault("name", f"Made {unique_word()}")
    assert saved_message(await dashboard.post(f"{base}/new", **fields)) == "made"
    return str(await db.fetchval(f"select id from {table} where name = $1", name))


async def new_zone(dashboard: Dashboard, db: Any, make: Make, *codes: str, **fields: Any) -> str:
    ids = [await country_id(make, code) for code in codes]
    return await new_record(dashboard, db, ZONES, "zones", **{"kind": "country", "country_ids[]": ids, **fields})


async def new_rate(dashboard: Dashboard, db: Any, make: Make, **fields: Any) -> str:
    zone = await new_zone(dashboard, db, make, "US")
    category = await new_record(dashboard, db, f"{TAXES}/categories", "tax_categories")
    form = {"percent": "19", "zone_id": zone, "tax_category_id": category, **fields}
    return await new_record(dashboard, db, f"{TAXES}/rates", "tax_rates", **form)


async def changed_fields(db: Any, record_id: str) -> list[set[str]]:
    """The fields that each audited update of a record changed, oldest first."""
    rows = await db.fetch(
        "select changes from audit_events where subject_id = $1 and action like '%_updated' order by at, id",
        UUID(record_id),
    )
    return [set(json.loads(row["changes"])) for row in rows]
