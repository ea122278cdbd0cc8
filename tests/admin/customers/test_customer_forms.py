"""Customers: create and edit them, their addresses, groups and price lists, their orders, and block them."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import new_email, sign_in
from tests.admin.catalog_forms import id_of, new_list
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, new_dashboard
from tests.admin.order_builders import buy, text_of
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer

CUSTOMERS = "/admin/customers"
MEMBERSHIPS = "select customer_group_id from customer_group_members where user_id = $1"
PRICE_LISTS = "select price_list_id from price_list_users where user_id = $1"
DETAILS = {
    "first_name": "Ada",
    "last_name": "Byron",
    "phone": "+44 20 7946 0018",
    "tags": "VIP, press",
    "note": "Likes\ntea",
}


async def create(dashboard: Dashboard, **fields: str) -> str:
    """Creates a customer; returns the path of the page."""
    answer = await dashboard.post(f"{CUSTOMERS}/new", **{"email": new_email(), **DETAILS, **fields})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"]).partition("?")[0]


def seen_in(page: str) -> str:
    match = re.search(r'name="seen" value="([^"]+)"', page)
    assert match
    return match[1]


async def paths_in_list(dashboard: Dashboard, **params: str) -> list[str]:
    page = await dashboard.http.get(CUSTOMERS, params=params, headers=dashboard.cookie)
    return re.findall(r'class="through" href="([^"]+)"', page.text)


async def test_an_operator_creates_a_customer_who_can_sign_in(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    email = new_email()

    path = await create(dashboard, email=email)

    page = text_of((await dashboard.get(path)).text)
    for text in (email, "Ada Byron", "+44 20 7946 0018", "press vip", "Likes tea", "verified"):
        assert text in page
    assert str(await (await sign_in(http, email)).id()) == path.rpartition("/")[2]
    changes = await db.fetchval(
        "select changes::text from audit_events where subject_id = $1 and action = 'user_created'",
        UUID(path.rpartition("/")[2]),
    )
    assert not re.search("Byron|vip|tea", changes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "nonsense"),
        ("email", ""),
        ("first_name", "x" * 101),
        ("last_name", "two\nlines"),
        ("phone", "5" * 51),
        ("note", "x" * 2001),
        ("note", "a\x07b"),
        ("tags", ",".join(f"t{number}" for number in range(21))),
        ("tags", "x" * 41),
    ],
)
async def test_invalid_details_are_refused(dashboard: Dashboard, field: str, value: str) -> None:
    answer = await dashboard.post(f"{CUSTOMERS}/new", **{"email": new_email(), **DETAILS, field: value})

    assert answer.status_code == 422
    assert f'id="error-{field}"' in answer.text


async def test_an_address_belongs_to_one_customer(dashboard: Dashboard) -> None:
    email = new_email()
    await create(dashboard, email=email)

    answer = await dashboard.post(f"{CUSTOMERS}/new", email=email.upper())

    assert answer.status_code == 422
    assert "E-mail address is taken." in answer.text


async def test_a_new_e_mail_address_ends_the_sessions(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    path = f"{CUSTOMERS}/{await member.id()}/edit"
    seen = seen_in((await dashboard.get(path)).text)

    answer = await dashboard.post(path, email=new_email(), seen=seen)

    assert answer.status_code == 303
    assert not await member.is_signed_in()


async def test_the_later_of_two_operators_sees_what_the_first_one_changed(dashboard: Dashboard, db: Any) -> None:
    path = await create(dashboard, email=(email := new_email()))
    seen = seen_in((await dashboard.get(f"{path}/edit")).text)
    other = await new_dashboard(dashboard.http, db)
    assert (await other.post(f"{path}/edit", email=email, first_name="Grace", seen=seen)).status_code == 303

    answer = await dashboard.post(f"{path}/edit", email=email, first_name="Mary", seen=seen)

    assert answer.status_code == 409
    assert "Someone else changed this customer" in answer.text
    assert "<dd>Grace</dd>" in answer.text
    again = await dashboard.post(f"{path}/edit", email=email, first_name="Mary", seen=seen_in(answer.text))
    assert again.status_code == 303


async def test_customers_are_found_by_words_of_name_e_mail_and_phone(dashboard: Dashboard) -> None:
    word, digits = uuid4().hex[:10], str(uuid4().int)[:10]
    email = f"x.{word}@shoppers.example"
    path = await create(dashboard, email=email, last_name=f"Ö{word}", phone=f"+44 {digits[:4]} {digits[4:]}")
    await dashboard.post(f"{path}/addresses/new", **{**ADDRESS, "company": f"Co{word}"})

    for text in (word, f"o{word}", f"Ö{word} ada", f"x.{word}@shop", digits, digits[:7], f"44{digits}", f"co{word}"):
        assert await paths_in_list(dashboard, q=text) == [path], text
    await dashboard.post(f"{path}/edit", email=email, seen=seen_in((await dashboard.get(f"{path}/edit")).text))
    assert await paths_in_list(dashboard, q=digits) == []


async def test_the_list_filters_by_tag_group_and_block_and_counts(dashboard: Dashboard, db: Any) -> None:
    tag = f"t{uuid4().hex[:8]}"
    first, second = await create(dashboard, tags=tag), await create(dashboard, tags=f"{tag}, other")
    group = await dashboard.post("/admin/customer-groups", name=f"Group {tag}")
    group_id = group.headers["location"].rpartition("/")[2].partition("?")[0]
    await dashboard.post(f"{second}/groups", **{"group_ids[]": [group_id]})
    await dashboard.post(f"{second}/disable")

    assert await paths_in_list(dashboard, tag=tag.upper()) == [second, first]
    assert await paths_in_list(dashboard, tag=tag, sort="oldest") == [first, second]
    assert await paths_in_list(dashboard, tag=tag, sort="changed") == [second, first]
    assert await paths_in_list(dashboard, tag=tag, group=group_id) == [second]
    assert await paths_in_list(dashboard, tag=tag, blocked="yes") == [second]
    assert await paths_in_list(dashboard, tag=tag, blocked="no") == [first]
    page = (await dashboard.get(f"{CUSTOMERS}?tag={tag}&sort=nonsense&group=x")).text
    assert "2 customers" in text_of(page)


async def test_addresses_are_added_changed_made_default_and_deleted(dashboard: Dashboard, db: Any) -> None:
    path = await create(dashboard)
    user_id = UUID(path.rpartition("/")[2])
    refusal = await dashboard.post(f"{path}/addresses/new", **{**ADDRESS, "zipcode": "nonsense"})
    assert refusal.status_code == 422
    assert 'id="error-zipcode"' in refusal.text
    other_country = await dashboard.post(f"{path}/addresses/new", intent="country", country_iso="DE", firstname="Ada")
    assert 'value="Ada"' in other_country.text
    for city in ("Springfield", "Chicago"):
        answer = await dashboard.post(f"{path}/addresses/new", **{**ADDRESS, "city": city})
        assert answer.headers["location"] == f"{path}?done=added"
    ids = [
        row["id"] for row in await db.fetch("select id from addresses where user_id = $1 order by created_at", user_id)
    ]

    await dashboard.post(f"{path}/addresses/{ids[1]}", **{**ADDRESS, "city": "Peoria"})
    await dashboard.post(f"{path}/addresses/{ids[1]}/default", use="billing")
    await dashboard.post(f"{path}/addresses/{ids[0]}/delete")

    rows = await db.fetch("select id, city from addresses where user_id = $1 and deleted_at is null", user_id)
    assert [tuple(row) for row in rows] == [(ids[1], "Peoria")]
    defaults = await db.fetchrow("select bill_address_id, ship_address_id from users where id = $1", user_id)
    assert tuple(defaults) == (ids[1], None)
    actions = await db.fetch(
        "select action from audit_events where actor_id = $1 and subject_id = any($2)", dashboard.id, ids
    )
    assert {row["action"] for row in actions} == {"address_created", "address_updated", "address_deleted"}


async def test_an_address_of_another_customer_is_404(dashboard: Dashboard, db: Any) -> None:
    path, other = await create(dashboard), await create(dashboard)
    await dashboard.post(f"{other}/addresses/new", **ADDRESS)
    address_id = await db.fetchval("select id from addresses where user_id = $1", UUID(other.rpartition("/")[2]))

    for answer in (
        await dashboard.get(f"{path}/addresses/{address_id}"),
        await dashboard.post(f"{path}/addresses/{address_id}", **ADDRESS),
        await dashboard.post(f"{path}/addresses/{address_id}/default"),
        await dashboard.post(f"{path}/addresses/{address_id}/delete"),
        await dashboard.post(f"{CUSTOMERS}/{UNKNOWN_ID}/addresses/new", **ADDRESS),
    ):
        assert answer.status_code == 404


async def test_price_lists_are_assigned_and_removed(dashboard: Dashboard, db: Any) -> None:
    path = await create(dashboard)
    answer = await dashboard.post("/admin/price-lists/new", name=f"List {uuid4().hex}", percent_off="5", currency="USD")
    list_id = answer.headers["location"].rpartition("/")[2].partition("?")[0]
    count = "select count(*) from price_list_users where user_id = $1"

    for former_ids, ids, expected in (([], [list_id], 1), ([list_id], [list_id], 1), ([list_id], [], 0)):
        saved = await dashboard.post(f"{path}/price-lists", **{"list_ids[]": ids, "former_ids[]": former_ids})
        assert saved.headers["location"] == f"{path}?done=lists"
        assert await db.fetchval(count, UUID(path.rpartition("/")[2])) == expected
    refusal = await dashboard.post(f"{path}/price-lists", **{"list_ids[]": [UNKNOWN_ID]})
    assert refusal.status_code == 422


async def test_the_page_shows_orders_of_guests_with_the_verified_address_and_the_lifetime_value(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http)
    own, _ = await buy(SignedInBuyer(http, checkout_setup, member))
    guest, _ = await buy(Buyer(http, checkout_setup))
    stranger, _ = await buy(Buyer(http, checkout_setup))
    canceled, _ = await buy(Buyer(http, checkout_setup))
    for order in (guest, canceled):
        await db.execute("update orders set email = upper($2) where id = $1", UUID(order.id), member.email)
    await db.execute("update orders set email = 'x' || $2 where id = $1", UUID(stranger.id), member.email)
    await db.execute("update orders set canceled_at = now() where id = $1", UUID(canceled.id))
    await db.execute("update payments set refunded_amount = 500 where order_id = $1", UUID(guest.id))
    path = f"{CUSTOMERS}/{await member.id()}"

    pages = [(await dashboard.get(path)).text, (await dashboard.get(f"{path}/orders")).text]

    for page in pages:
        numbers = re.findall(r'class="through nowrap" href="[^"]+">(\w+)<', page)
        assert sorted(numbers) == sorted(order["number"] for order in (own, guest, canceled))
        assert page.count(">guest</span>") == 2
    # Twice two items of ten dollars with five of shipping, without five that were refunded.
    assert "$45.00 with 2 orders" in text_of(pages[0])
    await db.execute("update payments set refunded_amount = 0 where order_id = $1", UUID(guest.id))


@pytest.mark.security("T-10")
async def test_a_blocked_customer_cannot_order_with_the_account_or_the_address(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    path = f"{CUSTOMERS}/{await member.id()}"
    product = await checkout_setup.product()
    guest, stranger, owner = (
        Buyer(http, checkout_setup),
        Buyer(http, checkout_setup),
        SignedInBuyer(http, checkout_setup, member),
    )
    for buyer, email in ((guest, member.email.upper()), (stranger, new_email()), (owner, member.email)):
        await buyer.add_items((product, 1))
        await buyer.enter_address()
        await buyer.update_checkout(email=email)
        await buyer.pay(method=checkout_setup.check)
    await dashboard.post(f"{path}/disable")

    refusal = await guest.complete()
    by_token = Buyer(http, checkout_setup)
    by_token.order_token = owner.order_token
    refusal_of_account = await by_token.complete()

    for answer in (refusal, refusal_of_account):
        assert answer.status == 422, answer
        assert "cannot be placed" in str(answer.json)
        assert "block" not in str(answer.json).lower()
    assert (await stranger.complete()).status == 200
    await dashboard.post(f"{path}/enable")
    assert (await guest.complete()).status == 200


async def test_only_what_the_form_changed_of_the_groups_and_price_lists_is_saved(dashboard: Dashboard, db: Any) -> None:
    path = await create(dashboard)
    groups = [await new_group(dashboard, db) for _ in range(3)]
    price_lists = [str(id_of(await new_list(dashboard))) for _ in range(3)]

    for form, name, (first, second, third), query in (
        ("groups", "group_ids[]", groups, MEMBERSHIPS),
        ("price-lists", "list_ids[]", price_lists, PRICE_LISTS),
    ):
        await dashboard.post(f"{path}/{form}", **{name: [first]})
        page = (await dashboard.get(path)).text
        # Another operator adds a second one, and removes none.
        await dashboard.post(f"{path}/{form}", **{name: [first, second], "former_ids[]": [first]})
        answer = await dashboard.post(f"{path}/{form}", **{name: [third], "former_ids[]": [first]})

        assert answer.status_code == 303
        assert f'<input type="hidden" name="former_ids[]" value="{first}">' in page
        assert f'name="former_ids[]" value="{second}"' not in page
        ids = {str(row[0]) for row in await db.fetch(query, UUID(path.rpartition("/")[2]))}
        assert ids == {second, third}, form


async def new_group(dashboard: Dashboard, db: Any) -> str:
    name = f"Group {uuid4().hex}"
    await dashboard.post("/admin/customer-groups", name=name)
    return str(await db.fetchval("select id from customer_groups where name = $1", name))
