"""The account: profile, addresses, orders and sessions."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.migrations.geography import geography_id
from tests.accounts import Member, ask_for_code, exchange_code, mailed_code, new_email, sign_in
from tests.concurrency import wait_for_locks
from tests.service import Service
from tests.shopper import PREFIX, Answer

USA: dict[str, Any] = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 infinite LOOP",
    "city": "cupertino",
    "zipcode": "95014",
    "phone": "+1 408 555 0100",
    "state_name": "California",
    "country_iso": "US",
}
ADDRESSES: dict[str, dict[str, Any]] = {
    "GB": {"address1": "10 Downing Street", "city": "London", "zipcode": "SW1A 2AA"},
    "DE": {"address1": "Platz der Republik 1", "city": "Berlin", "zipcode": "11011"},
    "FR": {"address1": "55 rue du Faubourg Saint-Honoré", "city": "Paris", "zipcode": "75008"},
    "JP": {"address1": "1-7-1 Nagatacho", "city": "Chiyoda", "zipcode": "100-8914", "state_name": "Tokyo"},
}


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
async def other_member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def add(member: Member, **changes: Any) -> Answer:
    answer = await member.post("/account/addresses", address={**USA, **changes})
    assert answer.status == 200, answer
    return answer


async def insert_order(db: Any, member: Member, *, address: str | None = None, is_completed: bool = True) -> str:
    """Inserts an order as checkout leaves it, and returns its number."""
    number = f"R{uuid4().int % 10**15:015}"
    await db.execute(
        """insert into orders
             (id, number, state, currency, user_id, bill_address_id, created_at, updated_at, completed_at)
           values ($1, $2, $3, 'USD', $4, $5, now(), now(), case when $3 = 'complete' then clock_timestamp() end)""",
        uuid4(),
        number,
        "complete" if is_completed else "cart",
        await member.id(),
        UUID(address) if address else None,
    )
    return number


async def defaults(member: Member) -> tuple[str | None, str | None]:
    links = (await member.get("/account")).json["data"]["relationships"]
    billing, shipping = links["default_billing_address"]["data"], links["default_shipping_address"]["data"]
    return billing and billing["id"], shipping and shipping["id"]


async def test_an_account_has_the_attributes_of_a_user(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http, first_name="Ada", last_name="Lovelace")

    answer = await member.get("/account")

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/vnd.api+json")
    assert answer.headers["cache-control"] == "no-store"
    data = answer.json["data"]
    assert set(answer.json) == {"data"}
    assert (data["type"], str(UUID(data["id"]))) == ("user", data["id"])
    assert data["attributes"] == {
        "email": member.email,
        "first_name": "Ada",
        "last_name": "Lovelace",
        "selected_locale": None,
        "store_credits": 0,
        "completed_orders": 0,
        "tags": [],
        "public_metadata": {},
    }
    nothing: dict[str, Any] = {"data": None}
    assert data["relationships"] == {"default_billing_address": nothing, "default_shipping_address": nothing}


async def test_the_names_of_the_redeemed_request_are_saved_at_the_first_sign_in_only(http: httpx2.AsyncClient) -> None:
    email = new_email()
    await ask_for_code(http, email, first_name="Mallory", last_name="Stranger")
    member = await sign_in(http, email, first_name="Ada")

    again = await sign_in(http, email, first_name="Eve")

    assert (await member.get("/account"))["first_name"] == "Ada"
    assert (await again.get("/account"))["first_name"] == "Ada"


@pytest.mark.security("P-04")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/account"),
        ("PATCH", "/account"),
        ("GET", "/account/addresses"),
        ("POST", "/account/addresses"),
        ("GET", f"/account/addresses/{UUID(int=7)}"),
        ("PATCH", f"/account/addresses/{UUID(int=7)}"),
        ("DELETE", f"/account/addresses/{UUID(int=7)}"),
        ("GET", "/account/orders"),
        ("GET", "/account/orders/R1"),
        ("GET", "/account/sessions"),
        ("DELETE", f"/account/sessions/{UUID(int=7)}"),
    ],
)
async def test_account_routes_without_a_bearer_token_are_401(http: httpx2.AsyncClient, method: str, path: str) -> None:
    answer = Answer(await http.request(method, PREFIX + path))

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="shop"'


async def test_an_account_costs_one_statement_and_its_default_addresses_a_second(
    member: Member, service: Service
) -> None:
    bare = await member.get("/account")
    await add(member)
    full = await member.get("/account?include=default_billing_address,default_shipping_address")

    assert [service.request_line(answer.request_id)["statements"] for answer in (bare, full)] == [1, 2]


async def test_default_addresses_are_linked_and_included_once(member: Member) -> None:
    address = await add(member)

    answer = await member.get("/account?include=default_billing_address,default_shipping_address")

    links = answer.json["data"]["relationships"]
    assert links["default_billing_address"] == {"data": {"id": address.id, "type": "address"}}
    assert links["default_shipping_address"] == links["default_billing_address"]
    assert answer.json["included"] == [address.json["data"]]


async def test_an_update_changes_only_the_given_fields(member: Member) -> None:
    await member.patch("/account", user={"first_name": "Ada", "public_metadata": {"size": {"shoe": 41}}})

    answer = await member.patch("/account", user={"last_name": "King", "selected_locale": "de-DE"})

    assert (answer.status, answer["first_name"], answer["last_name"]) == (200, "Ada", "King")
    assert (answer["selected_locale"], answer["public_metadata"]) == ("de-DE", {"size": {"shoe": 41}})
    assert (await member.get("/account")).json == answer.json
    assert (await member.patch("/account", user={"first_name": None}))["first_name"] is None


async def test_the_email_cannot_be_changed(member: Member) -> None:
    for email in (new_email(), None, 7, ""):
        answer = await member.patch("/account", user={"email": email, "first_name": "Eve"})

        assert (answer.status, set(answer.json["errors"])) == (422, {"email"})
    assert ((await member.get("/account"))["email"], (await member.get("/account"))["first_name"]) == (
        member.email,
        None,
    )


async def test_an_update_with_the_same_email_is_accepted(member: Member) -> None:
    for email in (member.email, member.email.upper()):
        answer = await member.patch("/account", user={"email": email, "first_name": "Ada"})

        assert (answer.status, answer["email"], answer["first_name"]) == (200, member.email, "Ada")


async def test_all_invalid_fields_are_reported_and_nothing_changes(member: Member) -> None:
    answer = await member.patch(
        "/account",
        user={"first_name": 1, "last_name": "x" * 256, "selected_locale": "a\nb", "public_metadata": []},
    )

    assert answer.status == 422
    assert set(answer.json["errors"]) == {"first_name", "last_name", "selected_locale", "public_metadata"}
    assert (await member.get("/account"))["last_name"] is None


@pytest.mark.security("C-02")
async def test_protected_fields_are_ignored(member: Member) -> None:
    before = await member.get("/account")
    fields = {"id": str(uuid4()), "store_credits": 100, "completed_orders": 9, "verified_at": None, "disabled_at": "x"}

    answer = await member.patch("/account", user=fields)

    assert (answer.status, answer.json) == (200, before.json)


async def test_an_update_without_a_user_object_is_malformed(member: Member) -> None:
    for body in ({"first_name": "Ada"}, {"user": "Ada"}, {"user": None}):
        answer = await member.ask("PATCH", "/account", json=body)

        assert (answer.status, answer.code) == (400, "malformed")


async def test_another_users_addresses_cannot_become_defaults(member: Member, other_member: Member) -> None:
    foreign = (await add(other_member)).id
    for address_id in (foreign, str(uuid4()), "x", 1):
        answer = await member.patch("/account", user={"bill_address_id": address_id, "ship_address_id": address_id})

        assert (answer.status, set(answer.json["errors"])) == (422, {"bill_address_id", "ship_address_id"})
    assert await defaults(member) == (None, None)


async def test_default_addresses_are_set_separately(member: Member) -> None:
    first, second = (await add(member)).id, (await add(member)).id

    await member.patch("/account", user={"ship_address_id": second})
    assert await defaults(member) == (first, second)

    await member.patch("/account", user={"bill_address_id": None})
    assert await defaults(member) == (None, second)


async def test_two_concurrent_updates_are_both_saved(member: Member, db: Any) -> None:
    """Both requests read the user before either can write."""
    user_id = await member.id()
    async with asyncio.TaskGroup() as group, db.transaction():
        await db.execute("select 1 from users where id = $1 for update", user_id)
        group.create_task(member.patch("/account", user={"first_name": "Ada"}))
        group.create_task(member.patch("/account", user={"last_name": "King"}))
        await wait_for_locks(db, 2)

    answer = await member.get("/account")
    assert (answer["first_name"], answer["last_name"]) == ("Ada", "King")


async def test_the_first_address_becomes_both_defaults(member: Member) -> None:
    first = await member.post("/account/addresses", address=USA)
    second = await add(member, address1="2 Infinite Loop")

    assert (first.status, first.json["data"]["type"]) == (200, "address")
    assert await defaults(member) == (first.id, first.id)
    assert second.id != first.id


async def test_an_address_is_saved_as_entered(member: Member) -> None:
    fields = {"company": "Analytical ENGINES ltd", "address2": "floor  2", "label": "home"}

    answer = await add(member, **fields)

    assert answer.json["data"]["attributes"] == {
        "firstname": "Ada",
        "lastname": "Lovelace",
        "address1": "1 infinite LOOP",
        "city": "cupertino",
        "zipcode": "95014",
        "phone": "+1 408 555 0100",
        "state_name": "California",
        "state_code": "CA",
        "country_name": "United States",
        "country_iso": "US",
        "country_iso3": "USA",
        "public_metadata": {},
        **fields,
    }
    assert (await member.get(f"/account/addresses/{answer.id}")).json == answer.json


@pytest.mark.parametrize("country", sorted(ADDRESSES))
async def test_addresses_of_several_countries_are_accepted(member: Member, country: str) -> None:
    address = {"firstname": "Ada", "lastname": "Lovelace", "country_iso": country, **ADDRESSES[country]}

    answer = await member.post("/account/addresses", address=address)

    assert (answer.status, answer["country_iso"], answer["address1"]) == (200, country, address["address1"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"zipcode": None}, "zipcode"),
        ({"zipcode": "123"}, "zipcode"),
        ({"zipcode": "10001"}, "state_name"),
        ({"state_name": None}, "state_name"),
        ({"state_name": "Bavaria"}, "state_name"),
        ({"state_name": 7}, "state_name"),
        ({"country_iso": "XX"}, "country_iso"),
        ({"country_iso": None}, "country_iso"),
        ({"country_iso": ["US"]}, "country_iso"),
        ({"country_iso": "GB", "state_name": None}, "zipcode"),
        ({"firstname": " "}, "firstname"),
        ({"city": 5}, "city"),
        ({"address1": ["x"]}, "address1"),
        ({"company": "x" * 256}, "company"),
    ],
)
async def test_an_invalid_address_field_is_reported(
    member: Member, db: Any, changes: dict[str, Any], field: str
) -> None:
    answer = await member.post("/account/addresses", address={**USA, **changes})

    assert (answer.status, answer.code, set(answer.json["errors"])) == (422, "validation_failed", {field})
    assert await db.fetchval("select count(*) from addresses where user_id = $1", await member.id()) == 0


@pytest.mark.parametrize(
    "state_fields",
    [
        {"state_name": "California"},
        {"state_name": "california"},
        {"state_name": "CA"},
        {"state_code": "ca"},
        {"state_id": str(geography_id("US-CA"))},
    ],
)
async def test_a_state_is_accepted_by_name_abbreviation_or_id(member: Member, state_fields: dict[str, str]) -> None:
    address = {name: value for name, value in USA.items() if name != "state_name"}

    answer = await member.post("/account/addresses", address={**address, **state_fields})

    assert (answer.status, answer["state_name"], answer["state_code"]) == (200, "California", "CA")


@pytest.mark.parametrize(
    "country_fields", [{"country_iso": "usa"}, {"country_iso": None, "country_id": str(geography_id("US"))}]
)
async def test_a_country_is_accepted_by_either_code_or_id(member: Member, country_fields: dict[str, str]) -> None:
    assert (await add(member, **country_fields))["country_iso"] == "US"


@pytest.mark.parametrize(
    ("country", "state", "city", "zipcode"),
    [
        ("IN", "MH", "Mumbai", "400001"),
        ("KR", "11", "Jongno-gu", "03045"),
        ("AE", "DU", "Dubai", None),
        ("MX", "MEX", "Toluca", "50000"),
    ],
)
async def test_a_state_that_the_shop_lists_is_accepted(
    member: Member, country: str, state: str, city: str, zipcode: str | None
) -> None:
    address = {"address1": "1 Main Road", "city": city, "zipcode": zipcode, "country_iso": country, "state_code": state}

    answer = await member.post("/account/addresses", address={"firstname": "Ada", "lastname": "King", **address})

    assert (answer.status, answer.json.get("errors")) == (200, None)


async def test_a_state_of_another_country_is_not_saved_as_text(member: Member) -> None:
    address = {"firstname": "Ada", "lastname": "King", "country_iso": "GB", **ADDRESSES["GB"]}
    state_id = str(geography_id("US-CA"))

    answer = await member.post("/account/addresses", address={**address, "state_id": state_id})

    assert answer.status == 422 or answer["state_name"] != state_id


async def test_editing_an_address_changes_only_the_given_fields(member: Member) -> None:
    address = await add(member, label="home")

    answer = await member.patch(f"/account/addresses/{address.id}", address={"address1": "3 Infinite Loop"})

    assert (answer.status, answer.id) == (200, address.id)
    expected = {**address.json["data"]["attributes"], "address1": "3 Infinite Loop"}
    assert answer.json["data"]["attributes"] == expected
    assert (await member.get(f"/account/addresses/{address.id}")).json == answer.json


async def test_editing_the_country_removes_the_old_state(member: Member) -> None:
    address = await add(member)

    answer = await member.patch(f"/account/addresses/{address.id}", address={"country_iso": "GB", **ADDRESSES["GB"]})

    assert (answer.status, answer["country_iso"]) == (200, "GB")
    assert (answer["state_name"], answer["state_code"]) == (None, None)


async def test_an_invalid_edit_changes_nothing(member: Member) -> None:
    address = await add(member)

    answer = await member.patch(f"/account/addresses/{address.id}", address={"zipcode": "1", "city": "Paris"})

    assert (answer.status, set(answer.json["errors"])) == (422, {"zipcode"})
    assert (await member.get(f"/account/addresses/{address.id}")).json == address.json


async def test_an_edit_after_a_completed_order_creates_a_new_address(member: Member, db: Any) -> None:
    old = await add(member)
    await insert_order(db, member, address=old.id)

    new = await member.patch(f"/account/addresses/{old.id}", address={"address1": "3 Infinite Loop"})

    assert (new.status, new.id != old.id, new["address1"]) == (200, True, "3 Infinite Loop")
    assert await defaults(member) == (new.id, new.id)
    assert (await member.get(f"/account/addresses/{old.id}")).status == 404
    addresses = await member.get("/account/addresses")
    assert [row["id"] for row in addresses.json["data"]] == [new.id]
    old_row = await db.fetchrow("select address1, deleted_at from addresses where id = $1", UUID(old.id))
    assert (old_row["address1"], old_row["deleted_at"] is not None) == ("1 infinite LOOP", True)


async def test_an_edit_while_an_order_is_open_updates_the_same_address(member: Member, db: Any) -> None:
    address = await add(member)
    await insert_order(db, member, address=address.id, is_completed=False)

    answer = await member.patch(f"/account/addresses/{address.id}", address={"address1": "3 Infinite Loop"})

    assert (answer.status, answer.id) == (200, address.id)


async def test_a_repeated_edit_with_one_idempotency_key_creates_one_address(member: Member, db: Any) -> None:
    old = await add(member)
    await insert_order(db, member, address=old.id)
    key = {"Idempotency-Key": str(uuid4())}
    path, changes = f"/account/addresses/{old.id}", {"address1": "3 Infinite Loop"}

    first = await member.patch(path, headers=key, address=changes)
    second = await member.patch(path, headers=key, address=changes)

    assert (first.status, second.status) == (200, 200)
    assert second.json == first.json


async def test_deleting_an_unused_address_deletes_its_row(member: Member, db: Any) -> None:
    address = await add(member)

    response = await member.delete(f"/account/addresses/{address.id}")

    assert (response.status, response.response.content) == (204, b"")
    assert (await member.get(f"/account/addresses/{address.id}")).status == 404
    assert (await member.delete(f"/account/addresses/{address.id}")).status == 404
    assert await db.fetchval("select count(*) from addresses where id = $1", UUID(address.id)) == 0
    assert await defaults(member) == (None, None)


async def test_deleting_a_used_address_only_hides_it(member: Member, db: Any) -> None:
    address = await add(member)
    await insert_order(db, member, address=address.id)

    response = await member.delete(f"/account/addresses/{address.id}")

    assert response.status == 204
    assert (await member.get(f"/account/addresses/{address.id}")).status == 404
    assert await db.fetchval("select deleted_at from addresses where id = $1", UUID(address.id)) is not None
    assert await defaults(member) == (None, None)


@pytest.mark.security("C-01")
async def test_another_users_addresses_are_404(member: Member, other_member: Member) -> None:
    address = await add(other_member)
    bodies = []
    for address_id in (address.id, str(uuid4()), "x", "%C3%A9"):
        path = f"/account/addresses/{address_id}"
        changes = {"address1": "mine now"}
        answers = [await member.get(path), await member.patch(path, address=changes), await member.delete(path)]
        assert [answer.status for answer in answers] == [404, 404, 404], address_id
        bodies += [{**answer.json, "request_id": ""} for answer in answers]

    assert all(body == bodies[0] for body in bodies)
    assert (await other_member.get(f"/account/addresses/{address.id}")).json == address.json
    assert (await member.get("/account/addresses")).json["data"] == []


async def test_an_idempotency_key_creates_one_address(member: Member, db: Any) -> None:
    key = {"Idempotency-Key": str(uuid4())}

    answers = [await member.post("/account/addresses", headers=key, address=USA) for _ in range(3)]
    other = await member.post("/account/addresses", headers=key, address={**USA, "city": "x"})

    assert {answer.status for answer in answers} == {200}
    assert len({answer.id for answer in answers}) == 1
    assert await db.fetchval("select count(*) from addresses where user_id = $1", await member.id()) == 1
    assert (other.status, other.code) == (422, "idempotency_key_reused")


async def test_twenty_concurrent_requests_with_one_idempotency_key_create_one_address(member: Member, db: Any) -> None:
    key = {"Idempotency-Key": str(uuid4())}

    answers = await asyncio.gather(*(member.post("/account/addresses", headers=key, address=USA) for _ in range(20)))

    assert {answer.status for answer in answers} == {200}
    assert await db.fetchval("select count(*) from addresses where user_id = $1", await member.id()) == 1


async def test_two_users_with_one_idempotency_key_each_get_their_own_address(
    member: Member, other_member: Member
) -> None:
    key = {"Idempotency-Key": str(uuid4())}

    mine = await member.post("/account/addresses", headers=key, address=USA)
    other_address = await other_member.post("/account/addresses", headers=key, address=USA)

    assert (mine.status, other_address.status) == (200, 200)
    assert mine.id != other_address.id


async def test_with_a_bearer_token_an_idempotency_key_need_not_be_a_uuid(member: Member) -> None:
    answer = await member.post("/account/addresses", headers={"Idempotency-Key": "my-first"}, address=USA)

    assert answer.status == 200


async def test_a_list_has_counts_and_links_to_its_pages(member: Member) -> None:
    address_ids = [(await add(member, label=f"home {number}")).id for number in range(5)]

    pages = [await member.get(f"/account/addresses?per_page=2&page={number}") for number in (1, 2, 3, 4)]

    assert [[row["id"] for row in page.json["data"]] for page in pages] == [
        address_ids[:2],
        address_ids[2:4],
        address_ids[4:],
        [],
    ]
    assert [page.json["meta"]["count"] for page in pages] == [2, 2, 1, 0]
    for page in pages:
        assert (page.json["meta"]["total_count"], page.json["meta"]["total_pages"]) == (5, 3)
        assert set(page.json["links"]) == {"self", "next", "prev", "last", "first"}
    numbers = [
        {name: parse_qs(urlsplit(link).query)["page"][0] for name, link in page.json["links"].items()}
        for page in pages[:3]
    ]
    assert numbers == [
        {"self": "1", "next": "2", "prev": "1", "last": "3", "first": "1"},
        {"self": "2", "next": "3", "prev": "1", "last": "3", "first": "1"},
        {"self": "3", "next": "3", "prev": "2", "last": "3", "first": "1"},
    ]


async def test_page_links_are_absolute_and_keep_the_page_size(member: Member) -> None:
    for number in range(3):
        await add(member, label=f"home {number}")
    page = await member.get("/account/addresses?per_page=1&page=2&fields[address]=label")
    links = page.json["links"]

    bearer = {"Authorization": f"Bearer {member.access_token}"}
    documents = [(await member.http.get(links[name], headers=bearer)).json() for name in ("first", "self", "last")]

    assert links["self"].startswith("http://127.0.0.1:")
    assert [page["data"][0]["attributes"] for page in documents] == [{"label": f"home {number}"} for number in range(3)]


async def test_the_self_link_is_the_requested_url(member: Member) -> None:
    address = f"{str(member.http.base_url).rstrip('/')}/api/v2/storefront/account/addresses"

    plain = await member.get("/account/addresses")
    page = await member.get("/account/addresses?per_page=2&page=1")

    assert plain.json["links"]["self"] == address
    assert page.json["links"]["self"] == f"{address}?per_page=2&page=1"


@pytest.mark.parametrize("query", ["access_token=hunter2", "%61ccess_token=hunter2", "x=1&token[]=hunter2", "hunter2"])
async def test_page_links_omit_unknown_parameters(member: Member, query: str) -> None:
    page = await member.get(f"/account/addresses?{query}&per_page=2&fields%5Baddress%5D=city")
    alone = await member.get(f"/account/addresses?{query}")

    assert page.json["links"]["self"].endswith("/account/addresses?per_page=2&fields%5Baddress%5D=city")
    assert alone.json["links"]["self"].endswith("/account/addresses")
    assert "hunter2" not in page.response.text + alone.response.text


@pytest.mark.parametrize("size", ["0", "-1", "501", "x", "", "1e2", "99999999999"])
async def test_an_invalid_page_size_is_replaced_by_25(member: Member, db: Any, size: str) -> None:
    user_id = await member.id()
    await db.execute(
        """insert into addresses (id, user_id, firstname, lastname, address1, country_id, created_at, updated_at)
           select gen_random_uuid(), $1, 'Ada', 'King', 'x', $2, now(), now() from generate_series(1, 26)""",
        user_id,
        geography_id("GB"),
    )

    answer = await member.get(f"/account/addresses?per_page={size}")

    assert (answer.status, answer.json["meta"]) == (200, {"count": 25, "total_count": 26, "total_pages": 2})


async def test_a_page_past_the_end_is_empty(member: Member) -> None:
    await add(member)

    answer = await member.get("/account/addresses?page=9")

    assert (answer.status, answer.json["data"]) == (200, [])
    assert answer.json["meta"] == {"count": 0, "total_count": 1, "total_pages": 1}


async def test_the_list_of_orders_has_the_users_completed_orders_newest_first(
    member: Member, other_member: Member, db: Any
) -> None:
    numbers = [await insert_order(db, member) for _ in range(3)]
    await insert_order(db, member, is_completed=False)
    await insert_order(db, other_member)

    answer = await member.get("/account/orders")

    assert [row["attributes"]["number"] for row in answer.json["data"]] == numbers[::-1]
    assert {row["type"] for row in answer.json["data"]} == {"order"}
    assert answer.json["meta"] == {"count": 3, "total_count": 3, "total_pages": 1}
    assert set(answer.json["links"]) == {"self", "next", "prev", "last", "first"}
    assert (await member.get("/account"))["completed_orders"] == 3


@pytest.mark.security("T-05")
async def test_a_list_of_orders_contains_no_order_tokens(member: Member, db: Any) -> None:
    await insert_order(db, member)

    answer = await member.get("/account/orders")

    assert answer.json["data"][0]["attributes"].get("token") is None
    assert "shpot_" not in answer.response.text


async def test_orders_are_paged(member: Member, db: Any) -> None:
    numbers = [await insert_order(db, member) for _ in range(3)]

    answer = await member.get("/account/orders?per_page=1&page=2")

    assert [row["attributes"]["number"] for row in answer.json["data"]] == [numbers[1]]
    assert answer.json["meta"] == {"count": 1, "total_count": 3, "total_pages": 3}


async def test_orders_can_be_sorted_and_an_unknown_sort_is_refused(member: Member, db: Any) -> None:
    numbers = [await insert_order(db, member) for _ in range(2)]

    oldest_first = await member.get("/account/orders?sort=completed_at")
    unknown = await member.get("/account/orders?sort=color")

    assert [row["attributes"]["number"] for row in oldest_first.json["data"]] == numbers
    assert unknown.status == 400


async def test_one_order_is_found_by_its_number(member: Member, other_member: Member, db: Any) -> None:
    number, open_number = await insert_order(db, member), await insert_order(db, member, is_completed=False)
    other_number = await insert_order(db, other_member)

    mine = await member.get(f"/account/orders/{number}")

    assert (mine.status, mine.json["data"]["type"], mine["number"], mine["state"]) == (200, "order", number, "complete")
    assert mine["completed_at"] is not None
    for missing in (other_number, open_number, "R0", "%C3%A9", "x" * 300):
        answer = await member.get(f"/account/orders/{missing}")
        assert (answer.status, answer.code) == (404, "not_found"), missing


async def test_an_order_is_linked_to_its_user(member: Member, db: Any) -> None:
    number = await insert_order(db, member)

    answer = await member.get(f"/account/orders/{number}")

    user_id = str(await member.id())
    assert answer.json["data"]["relationships"]["user"] == {"data": {"id": user_id, "type": "user"}}


@pytest.mark.security("T-10")
async def test_sessions_are_listed_and_the_current_one_is_marked(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    elsewhere = await sign_in(http, member.email)
    ended_member = await sign_in(http, member.email)
    await ended_member.delete(f"/auth/{ended_member.access_token}")

    answer = await elsewhere.get("/account/sessions")

    rows = answer.json["data"]
    assert (answer.status, {row["type"] for row in rows}) == (200, {"session"})
    assert [row["attributes"]["current"] for row in rows] == [True, False]
    names = {"created_at", "refreshed_at", "absolute_expires_at", "source", "user_agent", "current"}
    assert set(rows[0]["attributes"]) == names
    assert rows[0]["attributes"]["source"] == "127.0.0.1"
    assert rows[0]["attributes"]["user_agent"].startswith("python-httpx2/")
    assert answer.json["meta"] == {"count": 2, "total_count": 2, "total_pages": 1}


@pytest.mark.security("T-10")
async def test_ending_a_session_ends_exactly_that_one(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    elsewhere, third = await sign_in(http, member.email), await sign_in(http, member.email)
    rows = (await elsewhere.get("/account/sessions")).json["data"]
    session_id = next(row["id"] for row in rows if row["attributes"]["current"])

    response = await member.delete(f"/account/sessions/{session_id}")

    assert (response.status, response.response.content) == (204, b"")
    signed_in = [await who.is_signed_in() for who in (member, elsewhere, third)]
    assert signed_in == [True, False, True]
    assert (await elsewhere.refresh()).status == 401
    assert (await member.delete(f"/account/sessions/{session_id}")).status == 404
    event = await db.fetchrow("select action, actor_id from audit_events where request_id = $1", response.request_id)
    assert tuple(event) == ("session_end", await member.id())


@pytest.mark.security("T-10")
async def test_another_users_sessions_are_404(member: Member, other_member: Member) -> None:
    other_session = (await other_member.get("/account/sessions")).json["data"][0]["id"]

    for session_id in (other_session, str(uuid4()), "x"):
        assert (await member.delete(f"/account/sessions/{session_id}")).status == 404
    assert await other_member.is_signed_in()


async def test_the_current_session_can_be_ended(member: Member) -> None:
    own = (await member.get("/account/sessions")).json["data"][0]["id"]

    assert (await member.delete(f"/account/sessions/{own}")).status == 204
    assert not await member.is_signed_in()


async def test_there_is_no_sign_up_with_a_password(http: httpx2.AsyncClient) -> None:
    answer = await http.post(PREFIX + "/account", json={"user": {"email": new_email(), "password": "x"}})

    assert answer.status_code in {404, 405}


async def test_paths_with_invalid_bytes_are_400_or_404(member: Member) -> None:
    for path in ("/account/orders/%00", "/account/orders/%FF", "/account/addresses/%00", "/account/sessions/%00"):
        method = "DELETE" if "sessions" in path else "GET"
        assert (await member.ask(method, path)).status in {400, 404}, path


async def test_one_code_creates_one_session(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_email()
    await ask_for_code(http, email)
    code = await mailed_code(http, email)

    answers = await asyncio.gather(*(exchange_code(http, email, code) for _ in range(5)))

    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401, 401]
    sessions = "select count(*) from sessions s join users u on u.id = s.user_id where u.email_key = $1"
    assert await db.fetchval(sessions, email) == 1
