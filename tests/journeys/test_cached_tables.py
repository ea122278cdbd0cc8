"""Every table that a cached page or list reads changes the catalog version, or it would be out of date for ever.

The test records the statements of all cached routes, with every relation included, for a guest and for a customer with
own prices.
"""

import io
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import Table
from sqlalchemy.sql.visitors import iterate

from shop.app.routes import all_routes
from shop.db.pool import DatabaseSession
from shop.db.rows import metadata
from shop.db.statements import Statement
from shop.storefront.resources.registry import DOCUMENTED_RESOURCES as RESOURCES
from shop.web.endpoint import EndpointContext, Route
from shop.web.log import configure_logging
from shop.web.router import Router
from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup
from tests.http_client import NO_CERTIFICATES
from tests.platform.client import operator_context
from tests.website.catalog_pages import Section, add_image, new_rich_product, new_section
from tests.website.visitor import SESSION

TRIGGERS = "select event_object_table from information_schema.triggers where trigger_name = 'catalog_has_changed'"
_BEFORE_CACHE = "read with every request, before the cache: its key has the customer's price lists"
_SHIPPING = "shipping estimates of product pages, which are rendered again after a minute"
WITHOUT_TRIGGER = {
    "catalog_versions": "the version itself",
    "product_versions": "the versions of products",
    "access_tokens": _BEFORE_CACHE,
    "sessions": _BEFORE_CACHE,
    "users": _BEFORE_CACHE,
    "customer_group_members": _BEFORE_CACHE,
    "price_list_users": _BEFORE_CACHE,
    "price_list_groups": _BEFORE_CACHE,
    "shipping_method_amounts": _SHIPPING,
    "shipping_method_categories": _SHIPPING,
    "promotions": "the banner of the home page, which is rendered again after two seconds",
    "listing_sales": "the order by sales: pages are rendered again after a minute, lists of the API each time",
}
"""Tables that may change without a new version, each with the reason."""
_TABLE = re.compile(r"\b(?:from|join)\s+(\w+)", re.IGNORECASE)


def is_cached(route: Route) -> bool:
    """Whether the response is cached: public routes of the Storefront API, and public pages of the website."""
    code: Any = getattr(route.handler, "__code__", None)
    return route.is_cacheable or (code is not None and code.co_qualname.startswith("public_page."))


def list_tables(statement: Statement[Any]) -> set[str]:
    """The tables that a statement names, in expressions or as text."""
    tables = {part.name for part in iterate(statement._clause) if isinstance(part, Table)}
    return (tables | set(_TABLE.findall(statement.sql))) & set(metadata.tables)


@pytest.fixture
def read_tables(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The tables that this process has read, which no other process of the shop adds to."""
    tables: set[str] = set()
    run = DatabaseSession._run

    def record(session: DatabaseSession, method: str, statement: Statement[Any], values: Mapping[str, Any]) -> Any:
        tables.update(list_tables(statement))
        return run(session, method, statement, values)

    monkeypatch.setattr(DatabaseSession, "_run", record)
    return tables


@pytest.fixture
async def router(database_url: str) -> AsyncIterator[Router]:
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    async with operator_context(database_url) as ctx:
        yield Router(EndpointContext(ctx.shared), all_routes((), lambda: ctx.shared))


async def new_values(make: Make, section: Section) -> dict[str, dict[str, str]]:
    """The parameters of paths to records with everything that a response can show, by the beginning of the path."""
    product = await new_rich_product(make, section)
    await add_image(make, product.variant_id)
    taxon = await make.machine.get(f"/taxons/{section.root}")
    page = await make.new("cms_pages", "cms_page", title=f"About {uuid4().hex}")
    policy = await make.new("policies", "policy", name=f"Returns {uuid4().hex}")
    menu = await make.new("menus", "menu", name="Header", location=f"x{uuid4().hex}", locale="en")
    for kind, record_id in (
        ("Spree::Taxon", section.root),
        ("Spree::Product", product.id),
        ("Spree::CmsPage", page.id),
    ):
        fields = {"menu_id": menu.id, "name": "Link", "item_type": "Link"}
        await make.new(
            "menu_items", "menu_item", **fields, linked_resource_type=kind, linked_resource_id=str(record_id)
        )
    return {
        "products": {"slug": product.slug},
        "taxons": {"permalink": taxon["permalink"]},
        "t": {"permalink": taxon["permalink"]},
        "countries": {"iso": "US"},
        "stores": {"code": "default"},
        "cms_pages": {"slug": page["slug"]},
        "pages": {"slug": page["slug"]},
        "policies": {"slug": policy["slug"]},
        "menus": {"id": str(menu.id)},
    }


def list_relations(kind: str) -> list[str]:
    """The relations of a resource, and theirs."""
    relations = RESOURCES[kind].relations
    return [
        *relations,
        *chain.from_iterable(
            [f"{name}.{other}" for other in RESOURCES[relation.type].relations]
            for name, relation in relations.items()
            if relation.type in RESOURCES
        ),
    ]


def list_urls(routes: Iterable[Route], values: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The address of each route: an API's with all relations, a page as it is and with filters."""
    for route in routes:
        path = route.path
        name = path.removeprefix("/api/v2/storefront/").strip("/").partition("/")[0]
        for parameter, value in values.get(name, {}).items():
            path = re.sub(rf"\{{{parameter}\*?\}}", value, path)
        assert "{" not in path, f"{route.path}: add its parameter to `new_values`"
        if route.shows:
            yield f"{path}?include={','.join(list_relations(str(route.shows).removesuffix('[]')))}"
        else:
            yield from (path, f"{path}?q=oak&in_stock=1&price_min=1&sort=best-selling")


async def test_every_table_that_a_cached_response_shows_changes_the_catalog_version(
    router: Router,
    make: Make,
    checkout_setup: CheckoutSetup,
    http: httpx2.AsyncClient,
    db: Any,
    read_tables: set[str],
) -> None:
    values = await new_values(make, await new_section(make))
    member = await sign_in(http)
    await make.price_list(users=[await member.id()], entries={(await make.product()).variant_id: "1.00"})
    routes = [route for route in all_routes((), lambda: None) if is_cached(route)]  # type: ignore[arg-type,return-value]
    customer = {"Cookie": f"{SESSION}={member.access_token}", "Authorization": f"Bearer {member.access_token}"}
    read_tables.clear()

    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(router), base_url="http://shop", verify=NO_CERTIFICATES
    ) as client:
        answers = {
            (url, len(headers)): (await client.get(url, headers=headers)).status_code
            for url in list_urls(routes, values)
            for headers in ({}, customer)
        }

    assert {key: status for key, status in answers.items() if status != 200} == {}
    tables_with_trigger = {row[0] for row in await db.fetch(TRIGGERS)}
    missing = read_tables - tables_with_trigger - WITHOUT_TRIGGER.keys()
    assert not missing, f"create the trigger catalog_has_changed on {sorted(missing)}, as 0021_pages_menus.py does"
    assert WITHOUT_TRIGGER.keys() <= read_tables
