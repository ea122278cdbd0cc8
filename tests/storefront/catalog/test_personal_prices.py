"""Personal prices: the price lists of a customer count on every page, and never show to another customer."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.service import Service
from tests.shopper import PREFIX, Answer, Shopper
from tests.storefront.product_lists import CatalogSection, headers_of, ids, included, prices, word


def in_hours(count: int) -> str:
    return (datetime.now(UTC) + timedelta(hours=count)).isoformat()


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def price_for(shopper: Any, product_id: str, **params: str) -> Any:
    answer = await load_page(shopper, f"/products/{product_id}", **params)
    assert answer.status == 200, answer
    return answer["price"]


async def load_page(shopper: Any, path: str, **params: str) -> Answer:
    return Answer(await shopper.http.get(PREFIX + path, params=params, headers=headers_of(shopper)))


async def test_a_user_without_a_price_list_sees_the_same_prices_as_a_guest(
    make: Make, guest: Shopper, catalog_section: CatalogSection, member: Member, http: httpx2.AsyncClient
) -> None:
    product = await make.product(price="10", taxons=[catalog_section.root])
    other = await sign_in(http)
    await make.price_list(users=[await other.id()], percent_off="50")

    for path in ("/products", f"/products/{product.id}", f"/products/{product.id}/variants"):
        guest_response, member_response = await load_page(guest, path), await load_page(member, path)
        assert member_response.json == guest_response.json
    assert await price_for(other, product.id) == "5.0"


@pytest.mark.parametrize(
    ("price", "percent", "expected"),
    [
        ("10.00", "25", "7.5"),
        ("10.00", "100", "0.0"),
        ("9.99", "10", "8.99"),
        ("0.05", "50", "0.03"),
        ("0.05", "49.99", "0.03"),
        ("0.01", "0.01", "0.01"),
        ("1234.56", "33.33", "823.08"),
    ],
)
async def test_a_percentage_discount_is_rounded_half_up(
    make: Make, member: Member, price: str, percent: str, expected: str
) -> None:
    product = await make.product(price=price)
    await make.price_list(users=[await member.id()], percent_off=percent)

    assert await price_for(member, product.id) == expected


async def test_an_entry_has_precedence_over_the_percentage_of_its_list(make: Make, member: Member) -> None:
    product, other = await make.product(price="10"), await make.product(price="10")
    await make.price_list(users=[await member.id()], percent_off="50", entries={product.master: "8"})

    assert await price_for(member, product.id) == "8.0"
    assert await price_for(member, other.id) == "5.0"


async def test_the_list_with_the_highest_priority_decides_even_if_its_price_is_higher(
    make: Make, member: Member
) -> None:
    dear, cheap = await make.product(price="10"), await make.product(price="10")
    user = await member.id()
    await make.price_list(users=[user], priority=5, entries={dear.master: "12"})
    await make.price_list(users=[user], priority=1, entries={dear.master: "3", cheap.master: "4"})
    await make.price_list(users=[user], priority=0, percent_off="90")

    assert await price_for(member, dear.id) == "12.0"
    assert await price_for(member, cheap.id) == "4.0"


async def test_of_equal_priorities_the_lower_price_decides(make: Make, member: Member) -> None:
    product, user = await make.product(price="10"), await member.id()
    await make.price_list(users=[user], entries={product.master: "7"})
    await make.price_list(users=[user], percent_off="40")
    await make.price_list(users=[user], entries={product.master: "6.5"})

    assert await price_for(member, product.id) == "6.0"


async def test_of_equal_prices_the_older_list_decides(make: Make, member: Member) -> None:
    product, user = await make.product(price="10"), await member.id()
    older = await make.price_list(users=[user], entries={product.master: "7"})
    await make.price_list(users=[user], entries={product.master: "7"})

    page = await load_page(member, f"/products/{product.id}", explain="prices")

    assert page.json["meta"]["prices"][0]["price_list"]["id"] == older


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"active": False}, False),
        ({"starts_at": in_hours(1)}, False),
        ({"ends_at": in_hours(-1)}, False),
        ({"starts_at": in_hours(-1)}, True),
        ({"ends_at": in_hours(1)}, True),
        ({"starts_at": in_hours(-2), "ends_at": in_hours(-1)}, False),
        ({"starts_at": in_hours(-1), "ends_at": in_hours(1)}, True),
        ({"currency": "EUR"}, False),
    ],
)
async def test_a_list_applies_only_while_active_in_its_period_and_in_its_currency(
    make: Make, member: Member, fields: dict[str, Any], counts: bool
) -> None:
    product = await make.product(price="10")
    await make.price_list(users=[await member.id()], percent_off="50", **fields)

    assert await price_for(member, product.id) == ("5.0" if counts else "10.0")


async def test_each_currency_has_its_own_lists(make: Make, member: Member) -> None:
    product = await make.product(price="10", prices={"EUR": "8"})
    await make.price_list(users=[await member.id()], percent_off="50", currency="EUR")

    assert await price_for(member, product.id) == "10.0"
    assert await price_for(member, product.id, currency="eur") == "4.0"


async def test_a_list_applies_to_customers_while_they_are_members_of_its_groups(make: Make, member: Member) -> None:
    product, user = await make.product(price="10"), await member.id()
    group = await make.group()
    await make.price_list(groups=[group, await make.group()], percent_off="10")
    before = await price_for(member, product.id)

    membership = await make.new(
        "customer_group_members", "customer_group_member", customer_group_id=group, user_id=str(user)
    )
    within = await price_for(member, product.id)
    await make.remove("customer_group_members", membership.id)

    assert (before, within, await price_for(member, product.id)) == ("10.0", "9.0", "10.0")


async def test_a_change_of_a_price_list_takes_effect_at_once(make: Make, member: Member) -> None:
    product = await make.product(price="10")
    price_list = await make.price_list(users=[await member.id()], percent_off="50")
    entry = await make.entry(price_list, product.master, "3")
    seen_prices = [await price_for(member, product.id)]
    await make.change("price_list_entries", entry, "price_list_entry", amount="2")
    seen_prices.append(await price_for(member, product.id))
    await make.remove("price_list_entries", entry)
    seen_prices.append(await price_for(member, product.id))
    await make.change("price_lists", price_list, "price_list", percent_off="20")
    seen_prices.append(await price_for(member, product.id))
    await make.remove("price_lists", price_list)

    assert [*seen_prices, await price_for(member, product.id)] == ["3.0", "2.0", "5.0", "8.0", "10.0"]


async def test_an_entry_with_a_minimum_quantity_does_not_apply_to_one_item(make: Make, member: Member) -> None:
    product, other = await make.product(price="10"), await make.product(price="10")
    price_list = await make.price_list(users=[await member.id()], percent_off="10")
    await make.entry(price_list, product.master, "1", min_quantity=2)
    await make.entry(price_list, other.master, "2", min_quantity=1)

    assert await price_for(member, product.id) == "9.0"
    assert await price_for(member, other.id) == "2.0"


async def test_a_price_list_changes_prices_and_not_which_products_are_listed(
    make: Make, guest: Shopper, catalog_section: CatalogSection, member: Member
) -> None:
    product = await make.product(price=None, taxons=[catalog_section.root])
    await make.price_list(users=[await member.id()], entries={product.master: "4"})

    for shopper in (member, guest):
        assert ids(await catalog_section.of(shopper)) == ids(await catalog_section.of(shopper, sort="price")) == []
    assert await price_for(member, product.id) == "4.0"
    assert await price_for(guest, product.id) is None


async def test_every_page_shows_the_same_price(make: Make, catalog_section: CatalogSection, member: Member) -> None:
    product = await make.product(price="10", options={word(): ["a", "b"]}, on_hand=1, taxons=[catalog_section.root])
    first, second = product.variants
    await make.price_list(users=[await member.id()], percent_off="10", entries={first: "7.77", second: "6.66"})
    expected = {product.master: "9.0", first: "7.77", second: "6.66"}

    listing = await catalog_section.of(member, include="variants,default_variant,primary_variant")
    page = await load_page(member, f"/products/{product.id}", include="variants,default_variant,primary_variant")
    variants = await load_page(member, f"/products/{product.id}/variants", include="product")
    taxon = await load_page(
        member, f"/taxons/{catalog_section.root}", include="products.variants.product,products.primary_variant"
    )

    def costs(records: Any) -> dict[str, str]:
        return {record["id"]: record["attributes"]["price"] for record in records}

    assert prices(listing) == [page["price"]] == ["7.77"]
    for answer in (listing, page, taxon):
        assert costs(included(answer, "variant").values()) == expected
    assert costs(variants.json["data"]) == expected
    assert (
        costs(included(variants, "product").values())
        == costs(included(taxon, "product").values())
        == {product.id: "7.77"}
    )


async def test_products_are_sorted_and_filtered_by_the_customers_price(
    make: Make, guest: Shopper, catalog_section: CatalogSection, member: Member
) -> None:
    products = [await make.product(price=str(10 * number), taxons=[catalog_section.root]) for number in (1, 2, 3)]
    await make.price_list(users=[await member.id()], entries={products[2].master: "5", products[0].master: "50"})
    one, two, three = (product.id for product in products)

    assert ids(await catalog_section.of(member, sort="price")) == [three, two, one]
    assert ids(await catalog_section.of(member, sort_by="price-high-to-low")) == [one, two, three]
    assert ids(await catalog_section.of(guest, sort="price")) == [one, two, three]
    assert ids(await catalog_section.of(member, **{"filter[price]": "1,9"})) == [three]
    assert ids(await catalog_section.of(member, **{"filter[price]": "20,"}, sort="id")) == [one, two]
    assert (await catalog_section.of(member, **{"filter[price]": "1,9"}, per_page="1")).json["meta"]["total_count"] == 1


async def test_an_explanation_names_the_deciding_price_list_and_the_reason(
    make: Make, guest: Shopper, catalog_section: CatalogSection, member: Member
) -> None:
    percent, entry, base = [await make.product(price="10", taxons=[catalog_section.root]) for _ in range(3)]
    user, name = await member.id(), word()
    top = await make.price_list(name=name, users=[user], priority=7, entries={entry.master: "6"})
    off = await make.price_list(users=[user], priority=3, percent_off="12.5")
    await make.entry(top, percent.master, "1", min_quantity=2)

    listing = await catalog_section.of(member, explain="prices")

    explanations = {explanation["variant_id"]: explanation for explanation in listing.json["meta"]["prices"]}
    assert set(explanations) == {percent.master, entry.master, base.master}
    assert explanations[entry.master]["price_list"] == {
        "id": top,
        "name": name,
        "priority": 7,
        "min_quantity": 1,
        "percent_off": None,
    }
    assert (explanations[entry.master]["amount"], explanations[entry.master]["base_amount"]) == ("6.0", "10.0")
    assert name in explanations[entry.master]["why"]
    assert explanations[percent.master]["price_list"]["id"] == off
    assert (explanations[percent.master]["amount"], explanations[percent.master]["currency"]) == ("8.75", "USD")
    assert "12.5 percent" in explanations[percent.master]["why"]
    page = await load_page(member, f"/products/{entry.id}", explain="prices")
    variants = await load_page(member, f"/products/{entry.id}/variants", explain="prices")
    assert page.json["meta"]["prices"] == variants.json["meta"]["prices"] == [explanations[entry.master]]
    guest_response = await load_page(guest, f"/products/{entry.id}", explain="prices")
    (only,) = guest_response.json["meta"]["prices"]
    assert (only["amount"], only["price_list"]) == ("10.0", None)
    assert name not in guest_response.response.text
    assert "meta" not in (await load_page(member, f"/products/{entry.id}")).json
    assert "prices" not in (await catalog_section.of(member)).json["meta"]


PATHS = ("/products", "/products/{id}", "/products/{id}/variants", "/taxons", "/countries", "/countries/us", "/store")


@pytest.mark.parametrize("path", PATHS)
async def test_public_responses_are_cacheable_and_revalidated_by_etag(make: Make, guest: Shopper, path: str) -> None:
    product = await make.product()
    url_path = path.replace("{id}", product.id)

    first = await guest.get(url_path)

    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "public, no-cache"
    assert "authorization" in first.headers["vary"].lower()
    for if_none_match in (tag, f"W/{tag}", f'"another", W/{tag}', f'"x",{tag} , "y"', "*"):
        again = await guest.get(url_path, headers={"If-None-Match": if_none_match})
        assert (again.status, again.response.content) == (304, b""), if_none_match
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == "public, no-cache"
        assert "authorization" in again.headers["vary"].lower()
    for if_none_match in ('"another"', "", tag[1:-1], tag[:-2] + '"'):
        assert (await guest.get(url_path, headers={"If-None-Match": if_none_match})).status == 200, if_none_match


async def test_the_etag_changes_with_the_response(make: Make, guest: Shopper) -> None:
    product = await make.product(price="10")
    tag = (await guest.get(f"/products/{product.id}")).headers["etag"]

    await make.change("products", product.id, "product", price="11")
    again = await guest.get(f"/products/{product.id}", headers={"If-None-Match": tag})

    assert (again.status, again["price"]) == (200, "11.0")
    assert again.headers["etag"] != tag


@pytest.mark.parametrize("path", PATHS)
async def test_a_response_to_a_customer_is_not_cacheable(make: Make, guest: Shopper, member: Member, path: str) -> None:
    product = await make.product()
    url_path = path.replace("{id}", product.id)
    tag = (await guest.get(url_path)).headers["etag"]

    for if_none_match in (tag, "*"):
        answer = await member.get(url_path, headers={"If-None-Match": if_none_match})
        assert answer.status == 200
        assert answer.headers["cache-control"] == "private, no-store"
        assert "authorization" in answer.headers["vary"].lower()
        assert "etag" not in answer.headers


@pytest.mark.parametrize("path", PATHS)
async def test_an_invalid_bearer_token_is_refused_on_public_pages_too(
    make: Make, http: httpx2.AsyncClient, member: Member, path: str
) -> None:
    url_path = path.replace("{id}", (await make.product()).id)
    await http.delete(f"{PREFIX}/auth/{member.access_token}")

    for token in (member.access_token, "junk", make.machine.access_token):
        answer = Answer(
            await http.get(PREFIX + url_path, headers={"Authorization": f"Bearer {token}", "If-None-Match": "*"})
        )
        assert answer.status == 401
        assert "etag" not in answer.headers


@pytest.mark.torture
async def test_a_customer_never_sees_the_prices_of_another_customer(
    make: Make, guest: Shopper, catalog_section: CatalogSection, http: httpx2.AsyncClient, service: Service
) -> None:
    products = [
        await make.product(price="10", options={word(): ["a"]}, taxons=[catalog_section.root]) for _ in range(4)
    ]
    one, two = [await sign_in(http) for _ in range(2)]
    await make.price_list(users=[await one.id()], percent_off="10")
    await make.price_list(
        users=[await two.id()],
        entries={each: "3" for product in products for each in (product.master, product.variant_id)},
    )
    expected = {None: "10.0", one.access_token: "9.0", two.access_token: "3.0"}
    chance, tags = random.Random(1), ["*"]
    paths = [
        f"/products?filter[taxons]={catalog_section.root}&include=variants",
        f"/products?filter[taxons]={catalog_section.root}&sort=-price&explain=prices",
        *(f"/products/{product.slug}?include=default_variant.product" for product in products),
        *(f"/products/{product.id}/variants?include=product" for product in products),
        f"/taxons/{catalog_section.root}?include=products.variants",
    ]

    async def load_random_page(client: httpx2.AsyncClient) -> None:
        token = chance.choice(list(expected))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if chance.random() < 0.5:
            headers["If-None-Match"] = ", ".join(tags[-3:]) if chance.random() < 0.9 else "*"
        answer = await client.get(PREFIX + chance.choice(paths), headers=headers)
        if answer.status_code == 304:
            assert token is None, "only a guest may get a 304"
            return
        document = answer.json()
        records = [*([document["data"]] if isinstance(document["data"], dict) else document["data"])]
        record_prices = {
            record["attributes"]["price"]
            for record in (*records, *document.get("included", ()))
            if record["type"] in {"product", "variant"}
        }
        explained_prices = {explanation["amount"] for explanation in document.get("meta", {}).get("prices", ())}
        assert record_prices | explained_prices == {expected[token]}, answer.request.url
        if token is None:
            tags.append(answer.headers["etag"])

    async with service.client() as other:
        for _ in range(25):
            await asyncio.gather(*(load_random_page(chance.choice([guest.http, other])) for _ in range(16)))
