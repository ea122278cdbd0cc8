"""The account pages: orders, addresses, wishlists, cards, store credit, devices, profile and export."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.admin.dashboard import UNKNOWN_ID
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, SignedInBuyer
from tests.service import Service
from tests.website.visitor import COUNT, SESSION, VisitedPage, Visitor, signed_in_visitor

HOSTILE = "<script>alert('1')</script>\"&"
HOME = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Main Street",
    "city": "Springfield",
    "zipcode": "62701",
    "state_name": "IL",
    "country_iso": "US",
}


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
def visitor(member: Member) -> Visitor:
    return signed_in_visitor(member)


@pytest.fixture
async def stranger(http: httpx2.AsyncClient) -> Visitor:
    """Another signed-in customer."""
    return signed_in_visitor(await sign_in(http))


async def add_orders(db: Any, user_id: UUID, count: int, **values: Any) -> list[str]:
    """Completed orders, the newest first."""
    numbers = [f"R{uuid4().int % 10**15:015}" for _ in range(count)]
    for age, number in enumerate(numbers):
        await db.execute(
            """insert into orders (id, number, state, user_id, currency, item_total, total, payment_state,
                shipment_state, canceled_at, created_at, updated_at, completed_at)
            values (gen_random_uuid(), $1, 'complete', $2, 'USD', 1250, 1250, $3, $4, $5, now(), now(),
                now() - make_interval(days => $6))""",
            number,
            user_id,
            values.get("payment_state", "paid"),
            values.get("shipment_state", "ready"),
            values.get("canceled_at"),
            age,
        )
    return numbers


async def new_wishlist(member: Member, name: str = "Birthday", **fields: Any) -> str:
    return str((await member.post("/wishlists", wishlist={"name": name, **fields}))["token"])


async def names_of(member: Member, token: str) -> list[str]:
    """The products on a wishlist."""
    path = f"/wishlists/{token}?include=wished_items.variant.product"
    included = (await member.get(path)).json.get("included", [])
    return [record["attributes"]["name"] for record in included if record["type"] == "product"]


def rows_of(page: VisitedPage) -> list[str]:
    """The text of each row of the page's list, without markup."""
    rows = re.findall(r'<ul class="rows">(.*?)</ul>', page.text, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", "".join(rows), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", item).split()) for item in items]


# Overview and orders


async def test_the_overview_greets_the_customer_and_lists_the_newest_orders(
    visitor: Visitor, member: Member, db: Any
) -> None:
    await member.patch("/account", user={"first_name": "Ada"})
    numbers = await add_orders(db, await member.id(), 5)

    page = await visitor.get("/account")

    assert "Hello, Ada" in page.text
    assert [row.split()[0] for row in rows_of(page)] == numbers[:3]
    assert "All 5 orders" in page.text


async def test_a_new_customer_sees_what_to_do_next(visitor: Visitor) -> None:
    page = await visitor.get("/account")

    assert "You have not ordered anything yet." in page.text
    assert '<a href="/account" aria-current="page">Overview</a>' in page.text


async def test_the_orders_are_listed_by_page_with_links(visitor: Visitor, member: Member, db: Any) -> None:
    numbers = await add_orders(db, await member.id(), 12)

    first, second = await visitor.get("/account/orders"), await visitor.get("/account/orders?page=2")

    assert [row.split()[0] for row in rows_of(first)] == numbers[:10]
    assert [row.split()[0] for row in rows_of(second)] == numbers[10:]
    assert f'href="/orders/{numbers[0]}"' in first.text
    assert '<a href="/account/orders?page=2" rel="next">' in first.text
    assert '<a href="/account/orders?page=1" rel="prev">' in second.text
    assert (await visitor.get("/account/orders?page=3")).status == 404


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "1e3", "\u0662", "9" * 30])
async def test_a_page_number_that_is_none_is_the_first_page(visitor: Visitor, page: str) -> None:
    assert (await visitor.get(f"/account/orders?page={page}")).status == 200


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ({}, "Being prepared"),
        ({"payment_state": "balance_due", "shipment_state": "pending"}, "Awaiting payment"),
        ({"payment_state": "failed", "shipment_state": "pending"}, "Awaiting payment"),
        ({"payment_state": "balance_due", "shipment_state": "shipped"}, "Shipped"),
        ({"shipment_state": "partial"}, "Partly shipped"),
        ({"shipment_state": "backorder"}, "Ships later"),
        ({"payment_state": "void", "shipment_state": "shipped"}, "Refunded"),
    ],
)
async def test_the_state_of_an_order_is_said_in_words(
    visitor: Visitor, member: Member, db: Any, states: dict[str, str], text: str
) -> None:
    await add_orders(db, await member.id(), 1, **states)

    (row,) = rows_of(await visitor.get("/account/orders"))

    assert row.endswith(f"{text} $12.50")


async def test_nobody_sees_the_orders_of_another_customer(
    visitor: Visitor, stranger: Visitor, member: Member, db: Any
) -> None:
    (number,) = await add_orders(db, await member.id(), 1)

    assert number in (await visitor.get("/account/orders")).text
    assert number not in (await stranger.get("/account/orders")).text


# Addresses


async def test_an_address_is_added_with_the_fields_of_its_country(visitor: Visitor, member: Member) -> None:
    form = await visitor.get("/account/addresses/new")

    page = await visitor.submit(form, "save_address", **{**HOME, "label": "Home"})

    assert page.location == "/account/addresses?done=added"
    page = await visitor.follow(page)
    assert "The address is saved." in page.text
    assert "Ada Lovelace<br>1 Main Street<br>Springfield, IL 62701<br>United States" in page.text
    assert "Shipping default" in page.text
    assert "Billing default" in page.text
    assert (await member.get("/account/addresses")).json["data"][0]["attributes"]["label"] == "Home"


async def test_every_error_of_an_address_is_shown_with_what_was_entered(visitor: Visitor) -> None:
    form = await visitor.get("/account/addresses/new")

    page = await visitor.submit(form, "save_address", firstname="Ada", city=HOSTILE, zipcode="x", country_iso="US")

    fields = page.form("save_address")
    assert page.status == 422
    assert (fields["firstname"], fields["city"], fields["zipcode"]) == ("Ada", HOSTILE, "x")
    assert "<script>alert" not in page.text
    for name in ("lastname", "address1", "zipcode"):
        assert fields.attributes[name]["aria-describedby"] == f"{name}-error"
        assert f'<a href="#{name}">' in page.text
    assert '<div class="error-summary" role="alert" tabindex="-1" autofocus>' in page.text


async def test_another_country_changes_the_form_and_keeps_what_was_entered(visitor: Visitor, member: Member) -> None:
    form = await visitor.get("/account/addresses/new")
    entries = {"firstname": "Ada", "city": "Berlin", "country_iso": "DE", "intent": "country"}

    page = await visitor.submit(form, "save_address", **entries)

    names = [name for name in page.form("save_address").attributes if name in HOME]
    assert page.status == 200
    assert names.index("zipcode") < names.index("city")
    assert "state_name" not in names
    assert page.form("save_address")["city"] == "Berlin"
    assert (await member.get("/account/addresses")).json["data"] == []


async def test_an_address_is_changed(visitor: Visitor, member: Member) -> None:
    address_id = (await member.post("/account/addresses", address={**HOME, "label": "Home"})).id
    form = await visitor.get(f"/account/addresses/{address_id}")

    page = await visitor.submit(form, "save_address", address1="2 Side Street", label="")

    assert form.form("save_address")["state_name"] == "IL"
    assert page.location == "/account/addresses?done=changed"
    address = await member.get(f"/account/addresses/{address_id}")
    assert (address["address1"], address["state_code"], address["label"]) == ("2 Side Street", "IL", None)


async def test_an_address_becomes_the_default_and_is_deleted(visitor: Visitor, member: Member) -> None:
    await member.post("/account/addresses", address=HOME)
    second = (await member.post("/account/addresses", address=HOME)).id
    page, path = await visitor.get("/account/addresses"), f"/account/addresses/{second}"

    await visitor.submit(page, "set_default_shipping_address", action=f"{path}/default")
    await visitor.submit(page, "set_default_billing_address", action=f"{path}/default")

    account = (await member.get("/account")).json["data"]["relationships"]
    assert account["default_shipping_address"]["data"]["id"] == second
    assert account["default_billing_address"]["data"]["id"] == second
    page = await visitor.submit(page, "delete_address", action=f"{path}/delete")
    assert "The address is deleted." in (await visitor.follow(page)).text
    assert (await visitor.get(path)).status == 404


async def test_the_addresses_of_another_customer_are_not_found(
    stranger: Visitor, visitor: Visitor, member: Member
) -> None:
    path = f"/account/addresses/{(await member.post('/account/addresses', address=HOME)).id}"

    statuses = [
        (await stranger.get(path)).status,
        (await stranger.post(path, HOME)).status,
        (await stranger.post(f"{path}/default", {"use": "billing"})).status,
        (await stranger.post(f"{path}/delete")).status,
    ]

    assert statuses == [404] * 4
    assert (await visitor.get(path)).status == 200


# Wishlists


async def test_a_wishlist_is_created_renamed_and_deleted(visitor: Visitor) -> None:
    page = await visitor.submit(await visitor.get("/account/wishlists"), "create_wishlist", name="Birthday")
    page = await visitor.follow(page)

    page = await visitor.submit(page, "rename_wishlist", name=HOSTILE)

    page = await visitor.follow(page)
    assert "<script>alert" not in page.text
    assert page.form("rename_wishlist")["name"] == HOSTILE
    page = await visitor.submit(page, "delete_wishlist")
    page = await visitor.follow(page)
    assert "The wishlist is deleted." in page.text
    assert "You have no wishlist yet." in page.text


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "a" * 256])
async def test_a_wishlist_needs_a_name(visitor: Visitor, member: Member, name: str) -> None:
    token = await new_wishlist(member)

    created = await visitor.post("/account/wishlists", {"name": name})
    renamed = await visitor.post(f"/account/wishlists/{token}", {"name": name})

    for page, tool in ((created, "create_wishlist"), (renamed, "rename_wishlist")):
        assert page.status == 422
        assert page.form(tool).attributes["name"]["aria-describedby"] == "name-error"


async def test_a_product_is_added_to_the_default_list_from_its_page(
    visitor: Visitor, member: Member, make: Make
) -> None:
    mug = await make.product("Mug", on_hand=1)

    pages = [await visitor.post("/account/wishlists/items", {"variant_id": mug.variant_id}) for _ in range(2)]

    page = await visitor.follow(pages[0])
    assert pages[0].location == pages[1].location
    assert "Added to your wishlist." in page.text
    assert f'href="/products/{mug.slug}?variant={mug.variant_id}">Mug</a>' in page.text
    assert (await member.get("/wishlists/default?include=wished_items"))["is_default"] is True


async def test_a_guest_signs_in_and_the_product_is_on_the_list(http: httpx2.AsyncClient, make: Make) -> None:
    mug, guest, email = await make.product("Mug", on_hand=1), Visitor(http), f"{uuid4().hex}@shoppers.example"
    page = await guest.post("/account/wishlists/items", {"variant_id": mug.variant_id})
    page = await guest.submit(page, "request_sign_in_code", email=email)
    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email})).json()

    page = await guest.submit(page, "sign_in", code=mails[0]["code"])
    page = await guest.submit(page, "continue_after_sign_in")

    assert "Mug" in (await guest.follow(page)).text


@pytest.mark.parametrize("variant_id", ["", "x", UNKNOWN_ID])
async def test_what_is_not_sold_cannot_be_added_to_a_wishlist(visitor: Visitor, variant_id: str) -> None:
    page = await visitor.post("/account/wishlists/items", {"variant_id": variant_id})

    assert page.status == 422
    assert "This product cannot be added to a wishlist." in page.text


async def test_a_list_is_shared_with_a_link_until_it_is_private_again(
    visitor: Visitor, member: Member, make: Make
) -> None:
    mug, token, guest = await make.product("Mug", on_hand=1), await new_wishlist(member), Visitor(member.http)
    await member.post(f"/wishlists/{token}/add_item", variant_id=mug.variant_id, quantity=2)
    page = await visitor.get(f"/account/wishlists/{token}")
    assert (await guest.get(f"/wishlists/{token}")).status == 404

    page = await visitor.follow(await visitor.submit(page, "share_wishlist"))

    assert f'value="{str(member.http.base_url).rstrip("/")}/wishlists/{token}"' in page.text
    shared = await guest.get(f"/wishlists/{token}")
    assert shared.status == 200
    assert {form.tool for form in shared.forms} == {"search_products", "add_to_cart"}
    assert shared.form("add_to_cart").fields == [("variant_id", mug.variant_id), ("quantity", "2")]
    assert '<meta name="robots" content="noindex">' in shared.text
    assert shared.headers["cache-control"] == "no-store"
    assert member.email not in shared.text
    await visitor.submit(page, "unshare_wishlist")
    assert (await guest.get(f"/wishlists/{token}")).status == 404


async def test_a_list_becomes_the_default_list(visitor: Visitor, member: Member) -> None:
    tokens = [await new_wishlist(member, is_default=True), await new_wishlist(member)]
    page = await visitor.get(f"/account/wishlists/{tokens[1]}")

    await visitor.submit(page, "set_default_wishlist")

    assert (await member.get("/wishlists/default"))["token"] == tokens[1]


async def test_an_item_is_moved_to_the_cart_or_removed(visitor: Visitor, member: Member, make: Make) -> None:
    mug, pot, token = await make.product("Mug", on_hand=5), await make.product("Pot"), await new_wishlist(member)
    await member.post(f"/wishlists/{token}/add_item", variant_id=mug.variant_id, quantity=2)
    await member.post(f"/wishlists/{token}/add_item", variant_id=pot.variant_id)
    page = await visitor.get(f"/account/wishlists/{token}")

    moved = await visitor.submit(page, "move_to_cart")

    assert "Moved to your cart." in (await visitor.follow(moved)).text
    assert visitor.cookies[COUNT] == "2"
    assert (await member.get("/cart"))["item_count"] == 2
    assert await names_of(member, token) == ["Pot"]
    page = await visitor.get(f"/account/wishlists/{token}")
    await visitor.submit(page, "remove_wished_item")
    assert await names_of(member, token) == []


async def test_an_item_that_is_sold_out_stays_on_the_list(visitor: Visitor, member: Member, make: Make) -> None:
    pot, token = await make.product("Pot", on_hand=1), await new_wishlist(member)
    item = (await member.post(f"/wishlists/{token}/add_item", variant_id=pot.variant_id, quantity=2)).id

    page = await visitor.post(f"/account/wishlists/{token}/items/{item}/move")

    assert page.status == 422
    assert "There is not enough stock left of this item." in page.text
    assert await names_of(member, token) == ["Pot"]


async def test_an_item_whose_product_is_deleted_is_still_listed(visitor: Visitor, member: Member, make: Make) -> None:
    mug, token = await make.product("Mug", on_hand=1), await new_wishlist(member)
    await member.post(f"/wishlists/{token}/add_item", variant_id=mug.variant_id)
    await make.remove("products", mug.id)

    page = await visitor.get(f"/account/wishlists/{token}")

    assert "No longer available" in page.text
    assert {"remove_wished_item"} == {form.tool for form in page.forms} & {"remove_wished_item", "move_to_cart"}


@pytest.mark.parametrize("is_private", [True, False])
async def test_the_lists_of_another_customer_cannot_be_changed(
    stranger: Visitor, member: Member, make: Make, is_private: bool
) -> None:
    mug, token = await make.product("Mug", on_hand=1), await new_wishlist(member, is_private=is_private)
    item = (await member.post(f"/wishlists/{token}/add_item", variant_id=mug.variant_id)).id
    path = f"/account/wishlists/{token}"

    statuses = [
        (await stranger.get(path)).status,
        (await stranger.post(path, {"name": "Mine"})).status,
        (await stranger.post(f"{path}/items/{item}/move")).status,
        (await stranger.post(f"{path}/items/{item}/remove")).status,
        (await stranger.post(f"{path}/delete")).status,
    ]

    assert statuses == [404] * 5
    assert await names_of(member, token) == ["Mug"]
    assert COUNT not in stranger.cookies


async def test_the_statements_of_a_list_do_not_depend_on_its_length(
    service: Service, visitor: Visitor, member: Member, make: Make
) -> None:
    token = await new_wishlist(member)
    counts = []
    for _ in range(2):
        for _ in range(2):
            product = await make.product("Mug", on_hand=1)
            await member.post(f"/wishlists/{token}/add_item", variant_id=product.variant_id)
        for _ in range(2):  # The first page after a change of the catalog also renders the header.
            page = await visitor.get(f"/account/wishlists/{token}")
        counts.append(service.request_line(page.headers["x-request-id"])["statements"])

    assert counts[0] == counts[1]


# Cards and store credit


async def save_card(member: Member, checkout_setup: CheckoutSetup) -> str:
    buyer = SignedInBuyer(member.http, checkout_setup, member)
    assert (await buyer.buy(await checkout_setup.product(), "approve")).status == 200
    return str((await member.get("/account/credit_cards")).json["data"][0]["id"])


async def test_a_saved_card_is_listed_without_its_reference_and_removed(
    visitor: Visitor, member: Member, checkout_setup: CheckoutSetup, db: Any
) -> None:
    card_id = await save_card(member, checkout_setup)

    page = await visitor.get("/account/cards")

    reference = await db.fetchval("select reference from payment_sources where id = $1", UUID(card_id))
    assert rows_of(page)[0].startswith("Visa ending in 1111")
    assert reference is None or reference not in page.text
    page = await visitor.follow(await visitor.submit(page, "delete_saved_card"))
    assert "The card is removed." in page.text
    assert "No card is saved." in page.text


async def test_the_card_of_another_customer_is_not_found(
    stranger: Visitor, visitor: Visitor, member: Member, checkout_setup: CheckoutSetup
) -> None:
    card_id = await save_card(member, checkout_setup)

    page = await stranger.post(f"/account/cards/{card_id}/delete")

    assert page.status == 404
    assert "Visa ending in 1111" in (await visitor.get("/account/cards")).text


async def test_store_credit_is_shown_with_its_history(visitor: Visitor, member: Member, make: Make) -> None:
    user_id = str(await member.id())
    for currency, amount in (("USD", "25.00"), ("EUR", "3.50")):
        fields = {"user_id": user_id, "amount": amount, "currency": currency, "memo": HOSTILE}
        await make.new("store_credits", "store_credit", **fields)

    page = await visitor.get("/account/store-credit")

    assert "$25.00" in page.text
    assert "€3.50" in page.text
    assert [row.split()[0] for row in rows_of(page)] == ["Added", "Added"]
    assert "<script>alert" not in page.text


# Devices


async def test_the_devices_are_listed_and_one_is_signed_out(visitor: Visitor, member: Member) -> None:
    phone = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1"}
    code_page = await Visitor(member.http).post("/sign-in", {"email": member.email})
    mails: list[dict[str, Any]] = (await member.http.get("/mailbox.json", params={"to": member.email})).json()
    other = Visitor(member.http)
    fields = {"email": member.email, "code": mails[0]["code"]}
    await other.post(code_page.form("sign_in").action, fields, **phone)

    page = await visitor.get("/account/sessions")

    rows = rows_of(page)
    assert rows[0].endswith("This device")
    assert rows[1].startswith("Safari on iPhone")
    page = await visitor.follow(await visitor.submit(page, "sign_out_device"))
    assert "That device is signed out." in page.text
    assert len(rows_of(page)) == 1
    assert (await other.get("/account")).status == 303


async def test_all_other_devices_are_signed_out_at_once(visitor: Visitor, member: Member) -> None:
    others = [signed_in_visitor(await sign_in(member.http, member.email)) for _ in range(2)]
    page = await visitor.get("/account/sessions")

    await visitor.submit(page, "sign_out_other_devices")

    assert [(await other.get("/account")).status for other in others] == [303, 303]
    assert (await visitor.get("/account")).status == 200


async def test_ending_the_own_session_signs_out(visitor: Visitor, member: Member) -> None:
    session_id = (await member.get("/account/sessions")).json["data"][0]["id"]

    page = await visitor.post(f"/account/sessions/{session_id}/end")

    assert page.location == "/sign-in?done=signed-out"
    assert SESSION not in visitor.cookies


async def test_the_session_of_another_customer_is_not_found(stranger: Visitor, member: Member) -> None:
    session_id = (await member.get("/account/sessions")).json["data"][0]["id"]

    assert (await stranger.post(f"/account/sessions/{session_id}/end")).status == 404
    assert await member.is_signed_in()


# Profile and export


async def test_the_name_is_changed_and_cleared(visitor: Visitor, member: Member) -> None:
    page = await visitor.get("/account/profile")
    page = await visitor.submit(page, "save_profile", first_name=HOSTILE, last_name=" King ")
    page = await visitor.follow(page)
    overview = await visitor.get("/account")

    await visitor.submit(page, "save_profile", first_name="  ", last_name="Byron")

    assert page.form("save_profile")["first_name"] == HOSTILE
    assert page.form("save_profile")["last_name"] == "King"
    assert "<script>alert" not in page.text + overview.text
    account = await member.get("/account")
    assert (account["first_name"], account["last_name"]) == (None, "Byron")


async def test_a_name_that_is_too_long_is_shown_again(visitor: Visitor) -> None:
    page = await visitor.post("/account/profile", {"first_name": "a" * 256, "last_name": "King"})

    form = page.form("save_profile")
    assert page.status == 422
    assert form.attributes["first_name"]["aria-describedby"] == "first_name-error"
    assert (form["first_name"], form["last_name"]) == ("a" * 256, "King")


async def test_the_export_has_all_personal_data_and_no_secrets(
    visitor: Visitor, member: Member, make: Make, checkout_setup: CheckoutSetup
) -> None:
    await member.patch("/account", user={"first_name": "Ada", "last_name": HOSTILE})
    await member.post("/account/addresses", address={**HOME, "label": "Home"})
    await save_card(member, checkout_setup)
    mug, token = await make.product("Wished mug", on_hand=1), await new_wishlist(member)
    await member.post(f"/wishlists/{token}/add_item", variant_id=mug.variant_id)
    fields = {"user_id": str(await member.id()), "amount": "25.00", "currency": "USD", "memo": "Thanks"}
    await make.new("store_credits", "store_credit", **fields)

    page = await visitor.get("/account/export")

    data = page.response.json()
    assert page.headers["content-type"] == "application/json; charset=utf-8"
    assert page.headers["content-disposition"] == 'attachment; filename="personal-data.json"'
    assert (data["profile"]["email"], data["profile"]["last_name"]) == (member.email, HOSTILE)
    assert data["addresses"][0]["label"] == "Home"
    assert data["addresses"][0]["is_shipping_default"] is True
    (order,) = data["orders"]
    assert (order["total"], order["currency"], order["payment_state"]) == ("15.00", "USD", "paid")
    assert order["items"][0] | {"sku": ""} == {
        "name": "Mug",
        "options": "",
        "sku": "",
        "quantity": 1,
        "price": "10.00",
        "total": "10.00",
    }
    assert order["shipping_address"]["city"] == "Springfield"
    assert data["wishlists"][0]["items"][0]["name"] == "Wished mug"
    assert data["cards"][0]["last_digits"] == "1111"
    assert data["store_credit"][0] | {"at": ""} == {
        "at": "",
        "action": "granted",
        "currency": "USD",
        "amount": "25.00",
        "balance": "25.00",
        "reason": "Thanks",
        "order": None,
    }
    assert len(data["sessions"]) == 1
    assert not {"token", "hash", "reference", "secret"} & set(re.findall(r'"(\w+)":', page.text))


async def test_the_export_has_no_data_of_others(visitor: Visitor, stranger: Visitor, member: Member, db: Any) -> None:
    await add_orders(db, await member.id(), 1)
    await member.post("/account/addresses", address=HOME)
    await new_wishlist(member)

    data = (await stranger.get("/account/export")).response.json()

    assert (data["orders"], data["addresses"], data["wishlists"]) == ([], [], [])
    assert len((await visitor.get("/account/export")).response.json()["orders"]) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/account/addresses/{}",
        "/account/addresses/{}/default",
        "/account/addresses/{}/delete",
        "/account/cards/{}/delete",
        "/account/sessions/{}/end",
        "/account/wishlists/{}",
        "/account/wishlists/{}/delete",
        "/account/wishlists/x/items/{}/move",
        "/account/wishlists/x/items/{}/remove",
    ],
)
@pytest.mark.parametrize("key", [UNKNOWN_ID, "x", "%00", "%22%3E%3Cscript%3E", "..%2f"])
async def test_an_unknown_record_is_not_found(visitor: Visitor, path: str, key: str) -> None:
    page = await visitor.post(path.format(key), {**HOME, "name": "x"})

    assert page.status == 404
    assert "<script>" not in page.text
