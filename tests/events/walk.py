"""Sends requests to the routes of the Platform API, the storefront and some forms of the dashboard that change data."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
from aiohttp import web

from shop.actions.operations.abandoned_carts import note_abandoned_carts
from shop.base.ids import new_id
from shop.rules.access.permissions import BUILT_IN, OWNER_ID
from tests.accounts import Member, sign_in
from tests.admin.customers.test_customer_forms import seen_in
from tests.admin.dashboard import new_dashboard
from tests.admin.drafts.builders import new_draft
from tests.admin.setup_forms import shop_fields
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer
from tests.platform.builders import ALL, builder_of, make, update_body
from tests.platform.bulk import import_rows, new_slug
from tests.platform.catalog_builders import move, reposition
from tests.platform.client import Machine, operator_context
from tests.platform.orders.test_shipment_contents import Sale, new_sale, patch_shipment
from tests.shopper import Answer
from tests.webhooks.receiver import new_category, new_endpoint, open_receiver, wait_until


def succeeded(answer: Answer) -> Answer:
    assert answer.status < 300, answer
    return answer


async def change_every_resource(machine: Machine) -> None:
    """Creates, updates and deletes a record of every resource that allows it."""
    for collection in ALL:
        actions, builder = collection.actions, builder_of(collection)
        if not actions.create and not builder.upload:
            continue
        path = f"/{collection.path}"
        record_id = await make(machine, collection)
        if actions.update:
            succeeded(await machine.patch(f"{path}/{record_id}", update_body(collection)))
            # The same change again would be none: it is sent to another record.
            succeeded(
                await machine.ask("PUT", f"{path}/{await make(machine, collection)}", json=update_body(collection))
            )
        if actions.delete or builder.upload:
            succeeded(await machine.delete(f"{path}/{record_id}"))


async def move_records(machine: Machine, builder: Make) -> None:
    _, root = await builder.taxonomy()
    taxon = await builder.taxon("One", root)
    await builder.taxon("Two", root)
    succeeded(await reposition(machine, taxon, root, 1))
    menu = await builder.new("menus", "menu", name="Main", location="header")
    items = [
        await builder.new("menu_items", "menu_item", menu_id=menu.id, name=name, item_type="Link", destination="/")
        for name in ("One", "Two")
    ]
    first, second = (item.id for item in items)
    succeeded(await move(machine, "menu_item", first, second, 0))


async def import_catalog(machine: Machine) -> None:
    slug, sku = new_slug(), uuid4().hex
    line = {"slug": slug, "name": "Lamp", "master": {"sku": sku, "prices": {"USD": {"amount": "9.00"}}}}
    await import_rows(machine, "products", line)
    await import_rows(machine, "products", {**line, "name": "Lantern"})
    await import_rows(machine, "prices", {"sku": sku, "currency": "USD", "amount": "8.00"})


async def run_order_operations(machine: Machine, setup: CheckoutSetup, db: Any) -> None:
    """Every operation on completed orders."""
    card = await _buy(machine, setup, setup.card)
    succeeded(await machine.patch(f"/orders/{card}", {"order": {"internal_note": "Call first"}}))
    succeeded(await machine.ask("PUT", f"/orders/{card}", json={"order": {"internal_note": "Call twice"}}))
    succeeded(await machine.patch(f"/orders/{card}/approve", {}))
    shipment, payment = await _parts(machine, card)
    for verb in ("pend", "ready", "cancel", "resume", "ship"):
        succeeded(await machine.patch(f"/shipments/{shipment}/{verb}", {}))
    succeeded(await machine.patch(f"/shipments/{shipment}/deliver", {}))
    for method, tracking in (("PATCH", "1Z 5"), ("PUT", "1Z 6")):
        succeeded(await machine.ask(method, f"/shipments/{shipment}", json={"shipment": {"tracking": tracking}}))
    refund = {"payment_id": payment, "amount": "0.25", "reason": "late"}
    succeeded(await machine.post("/refunds", {"refund": refund}))

    check = await _buy(machine, setup, setup.check)
    succeeded(await machine.patch(f"/orders/{check}/cancel", {}))
    _, payment = await _parts(machine, check)
    succeeded(await machine.patch(f"/orders/{check}/resume", {}))
    succeeded(await machine.delete(f"/payments/{payment}"))
    newest = (await machine.get(f"/payments?filter[order_id_eq]={check}&sort=-id")).json["data"][0]["id"]
    succeeded(await machine.patch(f"/payments/{newest}/capture", {}))
    other = await _buy(machine, setup, setup.check)
    succeeded(await machine.patch(f"/payments/{(await _parts(machine, other))[1]}/void", {}))
    await _decline(machine.http, setup)
    await _transfer(machine, await new_sale(machine, db))


async def _buy(machine: Machine, setup: CheckoutSetup, method: str) -> str:
    buyer = Buyer(machine.http, setup)
    cart = await buyer.add_items((await setup.product(on_hand=1), 1))
    await buyer.enter_address()
    await buyer.pay(method=method)
    succeeded(await buyer.complete())
    return cart.id


async def _decline(http: httpx2.AsyncClient, setup: CheckoutSetup) -> None:
    buyer = Buyer(http, setup)
    await buyer.ready((await setup.product(), 1), source="decline")
    assert (await buyer.complete()).status == 422


async def _parts(machine: Machine, order_id: str) -> tuple[str, str]:
    """The ids of the first shipment and the first payment."""
    relations = (await machine.get(f"/orders/{order_id}")).json["data"]["relationships"]
    return relations["shipments"]["data"][0]["id"], relations["payments"]["data"][0]["id"]


async def _transfer(machine: Machine, sale: Sale) -> None:
    (first,) = await sale.shipments(machine)
    fields = {"variant_id": sale.mug.variant_id, "quantity": 1}
    target = {"stock_location_id": sale.locations[1]}
    merged = succeeded(await patch_shipment(machine, first, "transfer_to_location", **fields, **target))
    succeeded(await machine.patch(f"/shipments/{merged.id}/pend", {}))
    succeeded(await machine.delete(f"/shipments/{merged.id}"))
    second = succeeded(await patch_shipment(machine, first, "transfer_to_location", **fields, **target))
    number = (await machine.get(f"/shipments/{first}"))["number"]
    target = {"target_shipment_number": number}
    succeeded(await patch_shipment(machine, second.id, "transfer_to_shipment", **fields, **target))


async def complete_for_a_customer(machine: Machine, setup: CheckoutSetup) -> None:
    """Completes an order that an application prepares, and withdraws store credit."""
    buyer = Buyer(machine.http, setup)
    cart = await buyer.ready((await setup.product(), 1), source="approve")
    succeeded(await machine.patch(f"/orders/{cart.id}/complete", {}))
    user_id = await make(machine, next(each for each in ALL if each.path == "users"))
    credit = {"user_id": user_id, "currency": "USD", "amount": "5.00", "memo": "Late"}
    credit_id = succeeded(await machine.post("/store_credits", {"store_credit": credit})).id
    succeeded(await machine.patch(f"/store_credits/{credit_id}/withdraw", {"store_credit": {"reason": "Mistake"}}))


async def use_account(http: httpx2.AsyncClient, setup: CheckoutSetup, builder: Make) -> Member:
    """Every change of a shopper's account."""
    member = await sign_in(http)
    for method, name in (("PATCH", "Ada"), ("PUT", "Grace")):
        succeeded(await member.ask(method, "/account", json={"user": {"first_name": name}}))
    address = succeeded(await member.post("/account/addresses", address=ADDRESS))
    for method, city in (("PATCH", "Rome"), ("PUT", "Bern")):
        path = f"/account/addresses/{address.id}"
        succeeded(await member.ask(method, path, json={"address": {**ADDRESS, "city": city}}))
    succeeded(await member.delete(f"/account/addresses/{address.id}"))
    await _use_wishlists(member, [(await builder.product(on_hand=3)).variant_id for _ in range(2)])
    await SignedInBuyer(http, setup, member).buy(await setup.product(), "approve")
    return member


async def _use_wishlists(member: Member, variant_ids: list[str]) -> None:
    token = succeeded(await member.post("/wishlists", wishlist={"name": "One", "is_default": True}))["token"]
    other = succeeded(await member.post("/wishlists", wishlist={"name": "Two", "is_default": True}))["token"]
    path = f"/wishlists/{token}"
    for method, name in (("PATCH", "Three"), ("PUT", "Four")):
        succeeded(await member.ask(method, path, json={"wishlist": {"name": name}}))
    item = succeeded(await member.post(f"{path}/add_item", variant_id=variant_ids[0], quantity=1))
    succeeded(await member.ask("PATCH", f"{path}/set_item_quantity/{item.id}", json={"quantity": 3}))
    succeeded(await member.delete(f"{path}/remove_item/{item.id}"))
    items = [{"variant_id": variant_id, "quantity": 2} for variant_id in variant_ids]
    wishlist = succeeded(await member.post(f"{path}/add_items", wished_items=items))
    ids = [each["id"] for each in wishlist.json["data"]["relationships"]["wished_items"]["data"]]
    succeeded(await member.ask("DELETE", f"{path}/remove_items", json={"wished_items_ids": ids}))
    succeeded(await member.delete(f"/wishlists/{other}"))


async def use_dashboard(http: httpx2.AsyncClient, db: Any, user_id: UUID) -> None:
    """The forms of the dashboard whose changes the APIs do not make."""
    dashboard = await new_dashboard(http, db)

    async def submit(path: str, **fields: Any) -> None:
        answer = await dashboard.post(f"/admin{path}", **fields)
        assert answer.status_code in {200, 303}, (path, answer.status_code)

    await submit(f"/customers/{user_id}/disable")
    await submit(f"/customers/{user_id}/enable")
    customer_email = f"{uuid4().hex}@shoppers.example"
    await submit("/customers/new", email=customer_email)
    customer_id = await db.fetchval("select id from users where email = $1", customer_email)
    duplicate_email = f"{uuid4().hex}@shoppers.example"
    await submit("/customers/new", email=duplicate_email)
    preview = await dashboard.post(f"/admin/customers/{customer_id}/merge", email=duplicate_email)
    await submit(f"/customers/{customer_id}/merge", email=duplicate_email, seen=seen_in(preview.text))
    await submit(f"/customers/{customer_id}/erase", email=customer_email)
    email = f"{uuid4().hex}@operators.example"
    await submit("/settings/operators/new", email=email, role_id=str(OWNER_ID))
    operator_id = await db.fetchval("select id from operators where email = $1", email)
    await submit(f"/settings/operators/{operator_id}/disable")
    await submit(f"/settings/operators/{operator_id}/enable")
    await submit("/settings/roles/new", name=f"Night shift {uuid4().hex}", **{"permissions[]": ["orders:read"]})
    role_id = await db.fetchval("select id from roles where name like 'Night shift%' order by id desc limit 1")
    await submit(f"/settings/roles/{role_id}", name=f"Night shift {uuid4().hex}", **{"permissions[]": ["orders:write"]})
    await submit(f"/settings/roles/{role_id}/delete")
    await submit(f"/settings/operators/{operator_id}/role", role_id=str(BUILT_IN["support"].id))
    await submit(f"/settings/operators/{operator_id}/withdraw")
    application_id = new_id()
    await submit("/integrations/api/new", id=str(application_id), name="x", access_level="write", step="create")
    secret_id = await db.fetchval("select id from application_secrets where application_id = $1", application_id)
    await submit(f"/integrations/api/{application_id}/rotate", replaces=str(secret_id), overlap="0")
    await submit(f"/integrations/api/{application_id}/revoke")
    fields = shop_fields((await dashboard.get("/admin/settings/shop")).text)
    await submit("/settings/shop", **{**fields, "name": f"Shop {uuid4().hex[:6]}"})
    await submit("/settings/shop", **{**fields, "version": str(int(fields["version"]) + 1)})
    refund = await db.fetchrow(
        """select r.id, o.number from refunds r join orders o on o.id = r.order_id
        where r.state = 'completed' and o.canceled_at is null
            and not exists (select from invoices where order_id = o.id) order by r.id desc limit 1"""
    )
    await submit(f"/orders/{refund['number']}/invoice")
    note_id = new_id()
    await submit(f"/orders/{refund['number']}/notes", id=str(note_id), note="Call first")
    await submit(f"/orders/{refund['number']}/notes/{note_id}", note="Call twice")
    await submit(f"/orders/{refund['number']}/notes/{note_id}/delete")
    await submit(f"/orders/{refund['number']}/messages", message="It is on its way.")
    await submit(f"/orders/{refund['number']}/credit-notes", refund_id=str(refund["id"]))


async def mail_a_quote(http: httpx2.AsyncClient, db: Any, builder: Make) -> None:
    draft = await new_draft(await new_dashboard(http, db))
    await draft.save("email", email=f"{uuid4().hex}@shoppers.example")
    await draft.add(await builder.product(on_hand=3))
    await draft.save("quote", version=(await draft.row(db))["updated_at"].isoformat())


async def fail_an_endpoint(machine: Machine, builder: Make, db: Any) -> None:
    """An endpoint that answers 410, which disables it."""
    async with open_receiver() as receiver:
        receiver.responses = [web.Response(status=410)]
        endpoint = await new_endpoint(machine, receiver.url)
        await new_category(builder)
        await wait_until(db, "not (select enabled from webhook_endpoints where id = $1)", endpoint.id)


async def leave_a_cart(http: httpx2.AsyncClient, setup: CheckoutSetup, db: Any, database_url: str) -> None:
    """A cart with an e-mail address that nobody has changed for two days."""
    buyer = Buyer(http, setup)
    cart = await buyer.add_items((await setup.product(), 1))
    await buyer.enter_address()
    age = "update orders set updated_at = now() - interval '2 days' where id = $1"
    await db.execute(age, UUID(cart.id))
    async with operator_context(database_url) as ctx:
        assert await note_abandoned_carts(ctx.shared) >= 1
