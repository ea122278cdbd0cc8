"""Fills a shop with orders, drafts, promotions and settings, and lists the paths of their dashboard pages."""

from typing import Any
from uuid import UUID, uuid4

from tests.admin.catalog_forms import id_of, saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.drafts.builders import DRAFTS, new_ready_draft
from tests.admin.order_builders import ORDERS, buy, payment_of, shipment_of
from tests.admin.order_edits.forms import line_ids
from tests.admin.order_edits.test_refunds import preview
from tests.admin.promotion_forms import PROMOTIONS, add_part, new_discount
from tests.admin.setup_forms import CATEGORIES, CHECK, METHODS, PAYMENTS, POST, SHIPPING, TAXES, ZONES, new_record
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, country_id, new_checkout_setup
from tests.platform.client import new_machine

Paths = dict[str, str]
POLICIES = "/admin/settings/policies"


async def new_setup(dashboard: Dashboard, db: Any) -> CheckoutSetup:
    """A checkout that is paid by transfer, as in a shop that is no try-out."""
    make = Make(await new_machine(dashboard.http, db))
    transfer = {"name": "Bank transfer", "type": "check", "auto_capture": False}
    return await new_checkout_setup(make, card=(await make.new("payment_methods", "payment_method", **transfer)).id)


ARCHIVED = """insert into archived_orders (id, number, email, currency, item_count, total, payment_state,
    shipment_state, created_at, updated_at, completed_at, object_name, position, size, encryption_key, archived_at)
    select gen_random_uuid(), 'R' || substr(gen_random_uuid()::text, 1, 8), 'ada@example.org', 'USD', 2, 2500, 'paid',
    'shipped', old, old, old, 'orders-gone', 0, 1, '\\x00', now() from (select now() - interval '3 years' as old) times
    returning id"""


async def fill_orders(dashboard: Dashboard, db: Any, setup: CheckoutSetup) -> Paths:
    """Places an order that waits for its payment, and one that is paid, divided, invoiced and in part refunded."""
    unpaid, _ = await buy(Buyer(dashboard.http, setup), pays="check", name="A teapot with a bamboo handle and two cups")
    order, variant = await buy(Buyer(dashboard.http, setup), pays="check", quantity=3, name="Stoneware mug")
    path, payment, shipment = f"{ORDERS}/{order['number']}", await payment_of(db, order), await shipment_of(db, order)
    saved_message(await dashboard.post(f"{payment}/capture"))
    saved_message(await dashboard.post(f"{path}/notes", id=str(uuid4()), note="Call before the delivery."))
    item = await db.fetchval("select id from shipment_items where shipment_id = $1", id_of(shipment))
    saved_message(await dashboard.post(f"{shipment}/divide", **{f"quantity[{item}]": "1", "do": "move"}))
    line = (await line_ids(db, order))[variant]
    _, form = await preview(dashboard, f"{path}/refund", **{f"quantity[{line}]": "1"})
    saved_message(await dashboard.post(f"{path}/refund", **form, do="refund"))
    assert (await dashboard.post(f"{path}/invoice")).status_code == 303
    refund_id = await db.fetchval("select id from refunds where order_id = $1", UUID(order.id))
    credit_note = (await dashboard.post(f"{path}/credit-notes", refund_id=str(refund_id))).headers["location"]
    _, form = await preview(dashboard, f"{path}/refund", other="1.00")
    saved_message(await dashboard.post(f"{path}/refund", **form, do="refund"))
    open_refund_id = await db.fetchval("select id from refunds where order_id = $1 and amount = 100", UUID(order.id))
    archived_id = await db.fetchval(ARCHIVED)
    return {
        "order, archived": f"/admin/archive/{archived_id}",
        "order, in part refunded": path,
        "order, unpaid": f"{ORDERS}/{unpaid['number']}",
        "order, cancel": f"{path}/cancel",
        "order, refund": f"{path}/refund",
        "order, cancel items": f"{path}/cancel-items",
        "order, edit": f"{path}/edit",
        "shipment, divide": f"{shipment}/divide",
        "payment, refund": f"{payment}/refund",
        "payment, void": f"{await payment_of(db, unpaid)}/void",
        "credit note": credit_note,
        "credit note, issue": f"{path}/credit-notes?refund_id={open_refund_id}",
        "order, resume": f"{ORDERS}/{unpaid['number']}/resume",
        "packing slips": f"/admin/documents/packing-slips?numbers={order['number']},{unpaid['number']}",
        "carts": "/admin/carts",
        "carts, none": "/admin/carts?q=R0000",
    }


async def fill_approvals(dashboard: Dashboard, other: Dashboard, db: Any, setup: CheckoutSetup) -> Paths:
    """Two operators ask for refunds that need an approval."""
    await db.execute("update shops set refund_approval_amount = 15, version = version + 1")
    for each in (dashboard, other):
        order, variant = await buy(Buyer(dashboard.http, setup), pays="check", quantity=3)
        saved_message(await dashboard.post(f"{await payment_of(db, order)}/capture"))
        path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
        _, form = await preview(each, path, **{f"quantity[{line}]": "2", "reason_text": "Chipped on arrival"})
        saved_message(await each.post(path, **form, do="refund"))
    await db.execute("update shops set refund_approval_amount = null, version = version + 1")
    return {"approvals": "/admin/approvals", "order, waits for an approval": path.removesuffix("/refund")}


async def fill_drafts(dashboard: Dashboard, setup: CheckoutSetup) -> Paths:
    draft, _ = await new_ready_draft(dashboard, setup)
    empty = (await dashboard.post(DRAFTS)).headers["location"].partition("?")[0]
    return {
        "drafts": DRAFTS,
        "draft": draft.path,
        "draft, empty": empty,
        "draft with customers and products": f"{draft.path}?customer=Ada&product=Mug",
        "draft, delete": f"{draft.path}/delete",
        "quote": f"{draft.path}/quote",
    }


async def fill_promotions(dashboard: Dashboard, db: Any) -> Paths:
    promotion = await new_discount(dashboard)
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "50"})
    promotion_id = id_of(promotion)
    condition = await db.fetchval("select id from promotion_rules where promotion_id = $1", promotion_id)
    benefit = await db.fetchval("select id from promotion_actions where promotion_id = $1", promotion_id)
    saved_message(
        await dashboard.post(f"{promotion}/batches", name=f"Letters {unique_word()}", prefix="LEAF-", codes_count="3")
    )
    batch = await db.fetchval("select id from coupon_batches where promotion_id = $1", promotion_id)
    number = await db.fetchval("select number from orders where item_count > 0 order by id desc limit 1")
    return {
        "promotions": PROMOTIONS,
        "promotions, none": f"{PROMOTIONS}?q=zzzz",
        "new promotion": f"{PROMOTIONS}/new",
        "promotion": promotion,
        "promotion, delete": f"{promotion}/delete",
        "conditions and benefits": f"{promotion}/parts",
        "new condition": f"{promotion}/conditions/new?kind=product",
        "condition": f"{promotion}/conditions/{condition}",
        "new benefit": f"{promotion}/benefits/new?kind=percent_off_order",
        "benefit": f"{promotion}/benefits/{benefit}",
        "promotion, try": f"{promotion}/try",
        "promotion, tried": f"{promotion}/try?order={number}",
        "coupon batches": f"{promotion}/batches",
        "coupon batch, delete": f"{promotion}/batches/{batch}/delete",
    }


async def fill_settings(dashboard: Dashboard, db: Any, setup: CheckoutSetup) -> Paths:
    """Creates a record of each kind of setup; the zone and the categories are in use."""
    countries = [await country_id(setup.make, code) for code in ("US", "DE", "GB")]
    country_fields = {"kind": "country", "country_ids[]": countries}
    tax_category, rates = f"{TAXES}/categories", f"{TAXES}/rates"
    ids = {
        ZONES: await new_record(dashboard, db, ZONES, "zones", **country_fields, description="Where we send to"),
        tax_category: await new_record(dashboard, db, tax_category, "tax_categories"),
        CATEGORIES: await new_record(dashboard, db, CATEGORIES, "shipping_categories"),
        PAYMENTS: await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK),
        POLICIES: await new_record(dashboard, db, POLICIES, "policies", body="**30 days**"),
    }
    rate = {"percent": "19", "zone_id": ids[ZONES], "tax_category_id": ids[tax_category]}
    ids[rates] = await new_record(dashboard, db, rates, "tax_rates", **rate)
    links = {"zone_ids[]": [ids[ZONES]], "shipping_category_ids[]": [ids[CATEGORIES]]}
    ids[METHODS] = await new_record(dashboard, db, METHODS, "shipping_methods", **POST, **links)
    paths = {"settings": "/admin/settings", "settings, none": "/admin/settings?q=zzzz"}
    paths |= {
        each: each
        for each in (ZONES, TAXES, SHIPPING, PAYMENTS, POLICIES, "/admin/settings/backups", "/admin/settings/checks")
    }
    for base, record_id in ids.items():
        paths |= {f"{base}{end}": f"{base}{end}" for end in ("/new", f"/{record_id}", f"/{record_id}/delete")}
    return paths


async def fill_customer(dashboard: Dashboard, db: Any, path: str) -> Paths:
    """Grants store credit to a customer who has an address."""
    grant = {"amount": "10.00", "currency": "USD", "memo": f"A late parcel {unique_word()}"}
    saved_message(await dashboard.post(f"{path}/credit/grant", **grant))
    credit = await db.fetchval("select id from store_credits where memo = $1", grant["memo"])
    address = await db.fetchval("select id from addresses where user_id = $1 and deleted_at is null", id_of(path))
    return {
        "customer's address": f"{path}/addresses/{address}",
        "store credit": f"{path}/credit",
        "store credit, grant": f"{path}/credit/grant",
        "store credit, withdraw": f"{path}/credit/{credit}/withdraw",
    }
