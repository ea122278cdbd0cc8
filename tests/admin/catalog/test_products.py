"""Products: find, create, change by one operator at a time, archive and delete."""

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.admin.catalog_forms import (
    PRODUCTS,
    error_messages,
    field,
    id_of,
    new_product,
    new_variants,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events


async def find_products(dashboard: Dashboard, **params: str) -> list[str]:
    page = await dashboard.http.get(PRODUCTS, params=params, headers=dashboard.cookie)
    assert page.status_code == 200
    return re.findall(r'class="through" href="([^"]+)"', page.text)


def details_form(page: str, **changes: str) -> dict[str, str]:
    """The fields of the details form on this page, with some changes."""
    names = ("name", "slug", "description", "tags", "meta_title", "meta_description", "meta_keywords", "available_on",
             "discontinue_on", "make_active_at", "seen_details")  # fmt: skip
    return {name: field(page, name) for name in names} | {"status": "active"} | changes


async def test_a_product_is_created_with_name_price_and_sku(dashboard: Dashboard, db: Any) -> None:
    sku = unique_word()
    answer = await dashboard.post(
        f"{PRODUCTS}/new", name="  Blue mug ", **{"price-USD": "19.90"}, sku=sku, status="draft"
    )

    product = redirect_path(answer)
    row = await db.fetchrow(
        """select p.name, p.status, v.sku, r.amount, r.currency from products p
        join variants v on v.product_id = p.id and v.is_master join prices r on r.variant_id = v.id
        where p.id = $1""",
        id_of(product),
    )
    assert tuple(row) == ("Blue mug", "draft", sku, 1990, "USD")
    assert ("product_created", "done") in await events(db, actor=dashboard.id, subject=id_of(product))
    assert "Blue mug" in (await dashboard.get(product)).text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": " "}, "Name is required."),
        ({"name": "a\nb"}, "Name must be one line of at most 250 characters."),
        ({"name": "n" * 251}, "Name must be one line of at most 250 characters."),
        ({"price-USD": "1.999"}, "Price (USD) has more decimals than USD allows (2)."),
        ({"price-USD": "-1"}, "Price (USD) must be a number like 19.99."),
        ({"price-USD": "1e3"}, "Price (USD) must be a number like 19.99."),
        ({"price-USD": "٣"}, "Price (USD) must be a number like 19.99."),
        ({"price-USD": "9" * 20}, "Price (USD) is too large."),
        ({"sku": "s" * 101}, "SKU must be one line of at most 100 characters."),
        ({"status": "sold"}, "Status is not a valid choice."),
    ],
)
async def test_an_invalid_product_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, fields: dict[str, str], message: str
) -> None:
    form = {"name": "Mug", "sku": "", "status": "draft", **fields}

    answer = await dashboard.post(f"{PRODUCTS}/new", **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    (name,) = fields
    if name != "status":
        assert field(answer.text, name) == fields[name]
        assert f'id="error-{name}"' in answer.text


async def test_a_sku_in_use_is_refused(dashboard: Dashboard) -> None:
    sku = unique_word()
    await new_product(dashboard, sku=sku)

    answer = await dashboard.post(f"{PRODUCTS}/new", name="Other", sku=sku, status="draft")

    assert error_messages(answer) == ["SKU is taken."]


async def test_products_are_found_by_prefix_of_name_or_sku_status_and_stock(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    mug = await new_product(dashboard, name=f"Blue {word}mug", sku=f"{word.upper()}-M-1")
    pan = await new_product(dashboard, name=f"Iron {word}pan", status="draft")
    await db.execute("update variants set track_inventory = false where product_id = $1 and is_master", id_of(mug))
    await dashboard.post(mug, **details_form((await dashboard.get(mug)).text, tags="x"))

    assert await find_products(dashboard, q=word) == [pan, mug]
    assert await find_products(dashboard, q=f"blue {word}m") == [mug]
    assert await find_products(dashboard, q=f"{word}-m") == [mug]
    assert await find_products(dashboard, q=f"{word}", status="draft") == [pan]
    assert await find_products(dashboard, q=word, stock="out") == [pan]
    assert await find_products(dashboard, q=word, stock="in") == [mug]
    for text in (f"{word}zzz", f"z{word}", "'", "\\", ":*", "& |", "!", "<->", "%"):
        assert mug not in await find_products(dashboard, q=text)


async def test_products_are_paged_by_keyset(dashboard: Dashboard) -> None:
    word = unique_word()
    products = [await new_product(dashboard, name=f"{word} {number}") for number in range(27)]

    page = await dashboard.http.get(PRODUCTS, params={"q": word}, headers=dashboard.cookie)
    next_link = re.search(r'href="([^"]+)" rel="next"', page.text)
    assert next_link
    second = (await dashboard.get(next_link[1].replace("&amp;", "&"))).text

    first_page = re.findall(r'class="through" href="([^"]+)"', page.text)
    assert first_page == products[:1:-1]
    assert re.findall(r'class="through" href="([^"]+)"', second) == products[1::-1]


async def test_the_list_shows_the_price_range_and_the_number_of_variants(dashboard: Dashboard, db: Any) -> None:
    product, skus = await new_variants(dashboard, db)
    await db.execute(
        "update prices set amount = 3000 where variant_id = (select id from variants where sku = $1)", skus[1]
    )

    page = (await dashboard.http.get(PRODUCTS, params={"q": skus[0]}, headers=dashboard.cookie)).text

    assert product in page
    assert "$20.00 to $30.00" in page
    assert "2 variants" in page
    assert "sold out" in page


async def test_details_are_updated_and_the_old_slug_is_retained(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    page = (await dashboard.get(product)).text
    old_slug = field(page, "slug")
    slug = unique_word()

    fields = details_form(
        page, name="New name", slug=slug, description="One.\r\n\r\nTwo.", tags="gift,  Gift, dark  blue",
        status="draft", available_on="2026-01-02T03:04", discontinue_on="2027-01-02T03:04", meta_title="T",
    )  # fmt: skip
    assert saved_message(await dashboard.post(product, **fields)) == "saved"

    row = await db.fetchrow("select * from products where id = $1", id_of(product))
    assert (row["name"], row["slug"], row["status"], row["meta_title"]) == ("New name", slug, "draft", "T")
    assert row["description"] == "One.\n\nTwo."
    assert row["tags"] == ["gift", "dark blue"]
    assert row["available_on"].isoformat() == "2026-01-02T03:04:00+00:00"
    assert await db.fetchval("select product_id from product_slugs where slug = $1", old_slug) == id_of(product)
    assert ("product_updated", "done") in await events(db, actor=dashboard.id, subject=id_of(product))
    details_page = (await dashboard.get(product)).text
    assert field(details_page, "available_on") == "2026-01-02T03:04"
    assert "New name" in details_page


async def test_saving_unchanged_details_changes_no_timestamp_and_is_not_audited(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    await db.execute("update products set available_on = '2026-01-02 03:04:05+00' where id = $1", id_of(product))
    count = len(await events(db, subject=id_of(product)))

    assert saved_message(await dashboard.post(product, **details_form((await dashboard.get(product)).text))) == "saved"

    available_on = await db.fetchval("select available_on from products where id = $1", id_of(product))
    assert available_on.second == 5
    assert len(await events(db, subject=id_of(product))) == count


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Name is required."),
        ({"slug": "Not A Slug"}, "Slug may contain only lowercase letters, digits and single hyphens."),
        ({"status": "?"}, "Status is not a valid choice."),
        ({"available_on": "tomorrow"}, "Available from must be a date and time, like 2026-11-15T09:30."),
        ({"description": "\u202eevil"}, "Description must be text of at most 20,000 characters."),
        ({"tags": ",".join(str(number) for number in range(51))}, "Tags must be at most 50."),
        (
            {"available_on": "2026-02-01T00:00", "discontinue_on": "2026-01-01T00:00"},
            "Discontinue on must be later than Available from.",
        ),
    ],
)
async def test_invalid_details_are_refused_and_the_input_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    product = await new_product(dashboard)
    page = (await dashboard.get(product)).text

    answer = await dashboard.post(product, **details_form(page, **fields))

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    for name, text in fields.items():
        if name != "status":
            assert field(answer.text, name) == text
    assert field(answer.text, "seen_details") == field(page, "seen_details")


async def test_a_slug_in_use_is_refused(dashboard: Dashboard) -> None:
    other, product = await new_product(dashboard), await new_product(dashboard)
    slug = field((await dashboard.get(other)).text, "slug")

    answer = await dashboard.post(product, **details_form((await dashboard.get(product)).text, slug=slug))

    assert error_messages(answer) == ["Slug is taken."]


async def test_a_concurrent_change_is_409_and_shows_the_input_again(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product = await new_product(dashboard)
    page = (await dashboard.get(product)).text
    assert saved_message(await other_dashboard.post(product, **details_form(page, name="Theirs"))) == "saved"

    response = await dashboard.post(product, **details_form(page, name="Ours"))

    assert response.status_code == 409
    assert "Someone else changed this product" in response.text
    assert "<dt>Name</dt><dd>Theirs</dd>" in response.text
    assert field(response.text, "name") == "Ours"
    assert await db.fetchval("select name from products where id = $1", id_of(product)) == "Theirs"
    assert saved_message(await dashboard.post(product, **details_form(response.text))) == "saved"
    assert await db.fetchval("select name from products where id = $1", id_of(product)) == "Ours"


async def test_a_concurrent_change_of_other_fields_is_not_a_conflict(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    page = (await dashboard.get(product)).text
    saved_message(await dashboard.post(f"{product}/properties", new_name=unique_word(), new_value="Wool"))

    assert saved_message(await dashboard.post(product, **details_form(page, name="Still ours"))) == "saved"


async def test_a_product_is_archived_and_deleted_after_confirmation(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)

    assert saved_message(await dashboard.post(f"{product}/archive")) == "archived"
    assert await db.fetchval("select status from products where id = $1", id_of(product)) == "archived"
    question = await dashboard.get(f"{product}/delete")
    assert "This cannot be undone." in question.text
    assert saved_message(await dashboard.post(f"{product}/delete")) == "deleted"

    assert (await dashboard.get(product)).status_code == 404
    assert (await dashboard.post(f"{product}/delete")).status_code == 404
    assert ("product_deleted", "done") in await events(db, actor=dashboard.id, subject=id_of(product))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/delete",
        "/variants",
        f"/variants/{UNKNOWN_ID}",
        f"/variants/{UNKNOWN_ID}/remove",
        "/prices",
        "/images",
        "/places",
    ],
)
async def test_every_page_of_an_unknown_product_is_404(dashboard: Dashboard, path: str) -> None:
    for product in (UNKNOWN_ID, str(uuid4()), "new-mug", "0"):
        assert (await dashboard.get(f"{PRODUCTS}/{product}{path}")).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "", "/archive", "/delete", "/options", "/variants", "/variants/generate", f"/variants/{UNKNOWN_ID}",
        f"/variants/{UNKNOWN_ID}/remove", "/prices", "/images", f"/images/{UNKNOWN_ID}", f"/images/{UNKNOWN_ID}/up",
        f"/images/{UNKNOWN_ID}/remove", "/taxons", "/properties",
    ],
)  # fmt: skip
async def test_every_form_of_an_unknown_product_is_404(dashboard: Dashboard, path: str) -> None:
    assert (await dashboard.post(f"{PRODUCTS}/{UNKNOWN_ID}{path}")).status_code == 404


async def test_a_variant_of_another_product_is_404(dashboard: Dashboard, db: Any) -> None:
    product, (sku, _) = await new_variants(dashboard, db)
    other = await new_product(dashboard)
    variant = await db.fetchval("select id from variants where sku = $1", sku)

    assert (await dashboard.get(f"{other}/variants/{variant}")).status_code == 404
    assert (await dashboard.post(f"{other}/variants/{variant}/remove")).status_code == 404
    assert (await dashboard.get(f"{product}/variants/{variant}")).status_code == 200
