"""Compares the shop with the operations and attributes of the Spree API v2. `python -m tests.compatibility` writes the
tables of docs/compatibility.md.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shop.cli.routes import every_route
from shop.jsonapi.resource import Resource
from shop.platform.resources.registry import RESOURCES as PLATFORM
from shop.storefront.resources.registry import DOCUMENTED_RESOURCES as STOREFRONT

ROOT = Path(__file__).parent.parent
SPREE = ROOT / "docs" / "data" / "spree-api-v2.json"
PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- written by make compatibility: begin -->\n", "<!-- written by make compatibility: end -->\n"

DIFFERS = {
    "POST /api/v2/storefront/account": "404: there are no passwords; signing in creates the account",
    "GET /api/v2/storefront/stores/{code}": "deprecated in favor of `GET /store`",
    "PATCH /api/v2/storefront/cart/associate": "replaces the order token, and can merge two carts (`strategy`)",
    "PATCH /api/v2/storefront/checkout/complete": "409 `total_changed` asks for consent when a price changed",
    "GET /api/v2/storefront/checkout/shipping_rates": "writes nothing; shipments are stored with the address",
    "POST /api/v2/storefront/account/addresses": "the first address becomes both defaults",
    "GET /api/v2/storefront/order_status/{number}": "for `SHOP_ORDER_STATUS_TTL` after completion",
    "POST /spree_oauth/token": "`client_credentials` and `refresh_token`; no `password` grant",
    "POST /spree_oauth/revoke": "only its own application can revoke a platform token",
    "POST /api/v2/platform/images": "multipart; the file in `attachment`",
    "POST /api/v2/platform/users": "without a password",
    "POST /api/v2/platform/webhooks/subscribers": "types of events as in `docs/events.md`; requests follow Standard "
    "Webhooks",
    "GET /api/v2/platform/webhooks/events": "one record for each attempt; the event log is `GET /events`",
}
"""Operations that differ from Spree's."""
ABSENT = {
    r"passwords|account_confirmations": "there are no passwords to reset or confirm",
    r"posts|post_categories": "no blog",
    r"digitals|digital_links": "no digital products",
    r"customer_returns|return_authorizations|reimbursements": "no returns; `POST /refunds` refunds a payment",
    r"cms_sections": "pages are Markdown, without sections",
    r"gift_cards": "store credit instead",
    r"data_feeds": "exports as NDJSON instead (`docs/import.md`)",
    r"stores": "one shop; its settings are in the dashboard",
    r"roles": "operators are managed in the dashboard and by `shop admin`",
    r"stock_movements": "movements are immutable; another movement corrects one",
    r"inventory_units": "written by the shop; included with their shipment",
    r"credit_cards": "cards belong to shoppers; applications see them with a payment (`include=source`)",
    r"payments": "shoppers create payments; operations capture and void them, `POST /refunds` refunds a payment",
}
"""The reason why an operation is missing, by a pattern of its path; the first match counts."""


_SHOWN_ALONE = {"taxon": "taxon_with_products", "country": "country_with_states"}


class Operation(msgspec.Struct, frozen=True):
    """One of Spree's operations, and how this shop serves it."""

    name: str
    status: str
    note: str = ""


def spree() -> dict[str, Any]:
    apis: dict[str, Any] = json.loads(SPREE.read_text())
    del apis["about"]
    return apis


def operations(api: Mapping[str, Any]) -> list[Operation]:
    routes = {_shape(f"{route.method} {route.path}") for route in every_route()}
    return [_operation(*each.split(" "), prefix=api["prefix"], routes=routes) for each in api["operations"]]


def _operation(method: str, path: str, *, prefix: str, routes: set[str]) -> Operation:
    name = f"{method} {prefix}{path}"
    if name in DIFFERS:
        return Operation(name, "differs", DIFFERS[name])
    if _shape(name) in routes:
        return Operation(name, "served")
    reason = next((reason for part, reason in ABSENT.items() if re.search(rf"/({part})(/|$)", path)), "")
    return Operation(name, "not served", reason)


def _shape(name: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", name).replace("credit_cards/default", "credit_cards/{}")


def attributes(types: Mapping[str, str], resources: Mapping[str, Resource]) -> list[tuple[str, list[str], list[str]]]:
    """For each type: the names that only Spree has, and the names that only this shop has."""
    rows = []
    for name, text in types.items():
        resource = resources.get(_SHOWN_ALONE.get(name, name)) or resources.get(name)
        shop_names = {*resource.kinds(), *resource.relations} if resource else set()
        spree_names = set(text.split())
        rows.append((name, sorted(spree_names - shop_names), sorted(shop_names - spree_names)))
    return rows


def tables() -> str:
    parts = [_summary()]
    for title, api in spree().items():
        parts.append(f"### Operations: {title}\n\n" + _table(("operation", "", "note"), _rows(operations(api))))
        resources = {"storefront": STOREFRONT, "platform": PLATFORM}.get(title, {})
        if differing := [row for row in attributes(api["types"], resources) if row[1] or row[2]]:
            head = ("type", "in Spree only", "here only")
            rows = [(f"`{name}`", _names(missing), _names(more)) for name, missing, more in differing]
            parts.append(f"### Attributes and relations that differ: {title}\n\n" + _table(head, rows))
    return "\n".join(parts)


def _summary() -> str:
    rows = []
    for title, api in spree().items():
        statuses = [each.status for each in operations(api)]
        counts = [str(statuses.count(status)) for status in ("served", "differs", "not served")]
        rows.append((title, str(len(statuses)), *counts))
    return _table(("API", "operations of Spree", "served", "differ", "not served"), rows)


def _rows(operations: Iterable[Operation]) -> list[tuple[str, str, str]]:
    return [(f"`{each.name}`", each.status, each.note) for each in operations]


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page() -> str:
    """The text of the page with up-to-date tables."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page())
