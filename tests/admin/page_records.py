"""Fills a shop with a record of each kind, and lists the paths of their dashboard pages."""

import json
from typing import Any
from uuid import uuid4

from shop.admin.extensions.listeners import PATH as EXTENSIONS
from shop.admin.operations.report_kinds import REPORTS
from shop.base.ids import new_id
from shop.rules.access.permissions import OWNER_ID
from tests.accounts import sign_in
from tests.admin.authenticator import PASSKEYS, register
from tests.admin.browser_session import API
from tests.admin.catalog_bulk.test_batches import RAISE
from tests.admin.catalog_forms import (
    image_data,
    new_list,
    new_location,
    new_variants,
    redirect_path,
    saved_message,
    unique_word,
    upload,
)
from tests.admin.dashboard import Dashboard, new_operator
from tests.admin.imports.test_csv_imports import upload as upload_csv
from tests.admin.order_page_records import (
    Paths,
    fill_approvals,
    fill_customer,
    fill_drafts,
    fill_orders,
    fill_promotions,
    fill_settings,
    new_setup,
)
from tests.admin.webhooks.forms import PATH as WEBHOOKS
from tests.admin.webhooks.forms import create_endpoint

EVENT = """insert into timeline_entries (id, at, actor_kind, actor_id, type, order_id, facts)
    select gen_random_uuid(), now(), 'operator', $1, 'shipment.shipped', id, $3 from orders where number = $2"""
DEAD_MAIL = """insert into outbox_mails
    (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
    values ($1, 'login_code', 'charles@analytical.example', $1, now(), now(), now(), now(), '550 No such mailbox')"""
FAILING = "update webhook_endpoints set failing_since = now(), paused_until = now() where id = $1"
DISABLED = """update webhook_endpoints set enabled = false, disabled_at = now(),
    disabled_reason = 'The endpoint answered 410 Gone.' where id = $1"""
DELIVERY = """insert into webhook_deliveries (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id,
    state, attempt_count, created_at, ended_at)
    values ($1, $2, $1, 'order.completed', now(), 4711, $1, 'failed', 1, now(), now())"""
ATTEMPT = """insert into webhook_attempts (id, delivery_id, number, status, milliseconds, response, created_at)
    values (gen_random_uuid(), $1, 1, 500, 1234, '<h1>Internal server error</h1>' || repeat('x', 2000), now())"""

LISTENER = """insert into extension_listeners
    (id, extension, name, position, failure_count, last_error, failed_at, failed_position, created_at, updated_at)
    values ($1, $2, 'orders', 1, 1, 'KeyError: points', now(), 2, now(), now())"""


async def fill_pages(dashboard: Dashboard, other: Dashboard, db: Any) -> Paths:
    """Fills the shop; returns the path of every page of a signed-in operator by its name."""
    ids = await fill_shop(dashboard, db)
    setup = await new_setup(dashboard, db)
    await register(dashboard)
    passkey = await db.fetchval("select id from operator_passkeys where operator_id = $1", dashboard.id)
    return {
        **await fill_catalog(dashboard, db, ids["email"]),
        **shop_paths(ids),
        **await fill_customer(dashboard, db, f"/admin/customers/{ids['customer']}"),
        **await fill_orders(dashboard, db, setup),
        **await fill_approvals(dashboard, other, db, setup),
        **await fill_drafts(dashboard, setup),
        **await fill_promotions(dashboard, db),
        **await fill_settings(dashboard, db, setup),
        **await fill_webhooks(dashboard, db),
        **await fill_extensions(db),
        "account with a passkey": "/admin/account",
        "passkey": f"{PASSKEYS}/{passkey}",
    }


async def fill_shop(dashboard: Dashboard, db: Any) -> dict[str, str]:
    """Creates a record of each kind; returns the order number, the ids and the e-mail address."""
    member = await sign_in(dashboard.http, first_name="Ada", last_name="Lovelace")
    user_id = await member.id()
    number = (await member.post("/cart"))["number"]
    name_and_street = {"firstname": "Ada", "lastname": "Lovelace", "address1": "12 St James's Square", "city": "London"}
    country = {"zipcode": "SW1Y 4JH", "country_iso": "GB", "phone": "+44 20 7946 0000"}
    address = await member.post("/account/addresses", address={**name_and_street, **country})
    await db.execute(
        """update orders set state = 'complete', completed_at = now(), item_total = 420000, total = 424900,
        ship_total = 4900, email = $2, ship_address_id = $3, bill_address_id = $3, item_count = 3,
        payment_state = 'paid', special_instructions = 'Leave it at the door, please.' where number = $1""",
        number,
        member.email,
        address.id,
    )
    await member.post("/cart")
    await db.execute(EVENT, dashboard.id, number, json.dumps({"number": "H94311355", "tracking": "1Z999AA10123456784"}))
    await db.execute(DEAD_MAIL, uuid4())
    application_id = new_id()
    path = f"{API}/new"
    await dashboard.post(path, id=str(application_id), name="Warehouse sync", access_level="write", step="create")
    await new_operator(db, password_hash=None)
    event_id = await db.fetchval("select id from events where type = 'application.created' limit 1")
    return {
        "order": number,
        "customer": str(user_id),
        "application": str(application_id),
        "event": str(event_id),
        "email": member.email,
    }


async def fill_catalog(dashboard: Dashboard, db: Any, email: str) -> Paths:
    """Creates a product with variants, images, taxons and stock, and a price list; returns their paths."""
    product, (sku, _) = await new_variants(dashboard, db)
    assert (await upload(dashboard, f"{product}/images", image_data(), image_data("#27395c"))).status_code == 303
    saved_message(await dashboard.post(f"{product}/properties", new_name="Material", new_value="Stoneware"))
    tree = f"Categories {unique_word()}"
    saved_message(await dashboard.post("/admin/taxons", tree_name=tree))
    root = str(await db.fetchval("select id from taxons where name = $1", tree))
    saved_message(await dashboard.post("/admin/taxons/add", taxon_name="Kitchen", parent_id=root))
    assert (
        await upload(dashboard, f"/admin/taxons/{root}/image", image_data(), new_alt="A kitchen")
    ).status_code == 303
    location = await new_location(dashboard, db)
    fields = {"sku": sku, "location": location, "reason": "received", "quantity": "3", "note": "First delivery"}
    item = redirect_path(await dashboard.post("/admin/stock/new", **fields))
    delivery = {"kind": "delivery", "reference": "PO 4711", "location": location, "lines": f"{sku},12"}
    expected = redirect_path(await dashboard.post("/admin/stock/deliveries/new", **delivery, expected_on="2027-03-09"))
    other = await new_location(dashboard, db)
    transfer = {**delivery, "kind": "transfer", "reference": "T 1", "source": location, "location": other}
    draft = redirect_path(await dashboard.post("/admin/stock/deliveries/new", **transfer))
    imported = redirect_path(await upload_csv(dashboard, "slug,name,price\nlamp,Lamp,cheap\n"))
    imported_stock = redirect_path(await upload_csv(dashboard, "sku,count_on_hand\nlamp,many\n", "stock"))
    imported_customers = redirect_path(await upload_csv(dashboard, "email\nnobody\n", "customers"))
    group = redirect_path(
        await dashboard.post(
            "/admin/customer-groups", name=f"Wholesale {unique_word()}", description="Caf\u00e9s and restaurants"
        )
    )
    saved_message(await dashboard.post(f"{group}/members", emails=email))
    price_list = await new_list(
        dashboard, name=f"Wholesale {unique_word()}", percent_off="12.5", starts_at="2026-01-01T00:00"
    )
    saved_message(await dashboard.post(f"{price_list}/entries/add", sku=sku, min_quantity="10", amount="17.50"))
    saved_message(await dashboard.post(f"{price_list}/customers", emails=email))
    saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [group.rpartition("/")[2]]}))
    form = {"scope": "ticked", "ids[]": [product.rpartition("/")[2]], **RAISE, "step": "apply"}
    batch = redirect_path(await dashboard.post("/admin/products/bulk", **form))
    variant = await db.fetchval("select id from variants where sku = $1", sku)
    return {
        "products": "/admin/products",
        "products, none": "/admin/products?q=zzzz",
        "grid": "/admin/products/grid",
        "grid, none": "/admin/products/grid?q=zzzz",
        "batches": "/admin/products/batches",
        "batch": batch,
        "bulk": "/admin/products/bulk?scope=all",
        "bulk, no product": "/admin/products/bulk",
        "new product": "/admin/products/new",
        "product": product,
        "product, delete": f"{product}/delete",
        "variants": f"{product}/variants",
        "variant": f"{product}/variants/{variant}",
        "variant, remove": f"{product}/variants/{variant}/remove",
        "prices": f"{product}/prices?done=saved",
        "images": f"{product}/images",
        "places": f"{product}/places",
        "taxons": "/admin/taxons",
        "taxon": f"/admin/taxons/{root}",
        "taxon, remove": f"/admin/taxons/{root}/remove",
        "stock": "/admin/stock",
        "movement": "/admin/stock/new",
        "stock item": item,
        "locations": "/admin/stock/locations",
        "location": f"/admin/stock/locations/{location}",
        "threshold": "/admin/stock/threshold",
        "deliveries": "/admin/stock/deliveries",
        "deliveries, none": "/admin/stock/deliveries?state=canceled",
        "new delivery": "/admin/stock/deliveries/new",
        "new transfer": "/admin/stock/deliveries/new?kind=transfer",
        "delivery": f"{expected}?q={sku}",
        "transfer": draft,
        "count": f"/admin/stock/counts?location={location}",
        "imports": "/admin/imports/products",
        "imports of customers": "/admin/imports/customers",
        "imports of stock": "/admin/imports/stock",
        "import of stock": imported_stock,
        "import of customers": imported_customers,
        "import": imported,
        "price lists": "/admin/price-lists",
        "new price list": "/admin/price-lists/new",
        "price list": price_list,
        "price list, delete": f"{price_list}/delete",
        "entries": f"{price_list}/entries",
        "list's customers": f"{price_list}/customers",
        "preview": f"/admin/price-lists/preview?email={email}&q={sku}&quantity=12",
        "groups": "/admin/customer-groups",
        "group": group,
        "group, delete": f"{group}/delete",
    }


def shop_paths(ids: dict[str, str]) -> Paths:
    """Returns the pages of what `fill_shop` created, and those that need no record."""
    return {
        "overview": "/admin",
        "reports": "/admin/reports",
        **{f"report, {slug}": f"/admin/reports/{slug}?period=90" for slug in REPORTS},
        "orders": "/admin/orders",
        "orders, none": "/admin/orders?q=R0000",
        "order": f"/admin/orders/{ids['order']}",
        "customers": "/admin/customers",
        "customers, none": "/admin/customers?q=zzzz",
        "customer": f"/admin/customers/{ids['customer']}",
        "customer, edit": f"/admin/customers/{ids['customer']}/edit",
        "customer, orders": f"/admin/customers/{ids['customer']}/orders",
        "customer, new address": f"/admin/customers/{ids['customer']}/addresses/new",
        "new customer": "/admin/customers/new",
        "customer, merge": f"/admin/customers/{ids['customer']}/merge",
        "customer, erase": f"/admin/customers/{ids['customer']}/erase",
        "applications": API,
        "application": f"{API}/{ids['application']}",
        "revoke": f"{API}/{ids['application']}/revoke",
        "new application": f"{API}/new",
        "shop": "/admin/settings/shop?done=saved",
        "documents": "/admin/settings/documents",
        "e-mails": "/admin/settings/mails",
        "e-mail": "/admin/settings/mails/order_shipped",
        "invoice, not issued": f"/admin/orders/{ids['order']}/invoice",
        "packing slip": f"/admin/orders/{ids['order']}/packing-slip",
        "pick list, no orders": "/admin/documents/pick-list",
        "pick list": f"/admin/documents/pick-list?numbers={ids['order']}",
        "website": "/admin/settings/website?done=saved",
        "operators": "/admin/settings/operators",
        "invite": "/admin/settings/operators/new",
        "roles": "/admin/settings/roles",
        "new role": "/admin/settings/roles/new",
        "role": f"/admin/settings/roles/{OWNER_ID}",
        "events": "/admin/events",
        "events, none": "/admin/events?type=nothing.happened",
        "event": f"/admin/events/{ids['event']}",
        "audit": "/admin/audit",
        "audit, none": "/admin/audit?type=nothing",
        "account": "/admin/account",
        "password": "/admin/account/password",
        "authenticator": "/admin/account/authenticator",
        "new passkey": "/admin/account/passkeys/new",
    }


async def fill_webhooks(dashboard: Dashboard, db: Any) -> Paths:
    """Creates an endpoint in each state, and a delivery that failed."""
    long_path = "a-rather-long-path/of-the-warehouse"
    first, failing, gone = [
        await create_endpoint(dashboard, f"https://{name}.example/{long_path}", "order.*", "zone.*", fields="state")
        for name in ("works", "failing", "gone")
    ]
    await db.execute(FAILING, failing.id)
    await db.execute(DISABLED, gone.id)
    delivery = new_id()
    await db.execute(DELIVERY, delivery, first.id)
    await db.execute(ATTEMPT, delivery)
    return {
        "webhooks": WEBHOOKS,
        "new endpoint": f"{WEBHOOKS}/new",
        "endpoint": first.path,
        "endpoint, failing": failing.path,
        "endpoint, disabled": gone.path,
        "endpoint, edit": f"{first.path}/edit",
        "endpoint, delete": f"{first.path}/delete",
        "deliveries of events, none": f"{first.path}/deliveries?state=succeeded",
        "deliveries of events": f"{first.path}/deliveries",
        "delivery of an event": f"{first.path}/deliveries/{delivery}",
        "replay": f"{first.path}/replay",
        "replay, disabled": f"{gone.path}/replay",
    }


async def fill_extensions(db: Any) -> Paths:
    """Adds the progress of a listener that failed, of an extension that is not installed."""
    listener = new_id()
    await db.execute(LISTENER, listener, f"absent{listener.hex[-8:]}")
    return {"extensions": EXTENSIONS, "skip an event": f"{EXTENSIONS}/{listener}/skip"}
