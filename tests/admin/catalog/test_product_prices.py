"""A product's prices: variants and currencies in one table, saved together or not at all."""

from typing import Any

import pytest

from tests.admin.catalog_forms import error_messages, field, id_of, new_product, new_variants, saved_message
from tests.admin.dashboard import Dashboard, events


async def variants_of(db: Any, product: str) -> list[str]:
    rows = await db.fetch(
        "select id from variants where product_id = $1 and not is_master order by position", id_of(product)
    )
    return [str(row["id"]) for row in rows]


async def prices_of(db: Any, product: str) -> list[tuple[Any, ...]]:
    rows = await db.fetch(
        """select r.currency, r.amount, r.compare_at_amount from prices r join variants v on v.id = r.variant_id
        where v.product_id = $1 and not v.is_master order by v.position, r.currency""",
        id_of(product),
    )
    return [tuple(row) for row in rows]


async def test_one_form_creates_updates_and_deletes_prices(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)
    red, blue = await variants_of(db, product)
    path = f"{product}/prices"
    page = (await dashboard.get(path)).text
    assert field(page, f"price[{red}][USD]") == "20.00"

    cells = {f"price[{red}][USD]": "18.5", f"compare[{red}][USD]": "20", f"price[{blue}][USD]": ""}
    assert saved_message(await dashboard.post(path, seen=field(page, "seen"), **cells)) == "saved"

    assert await prices_of(db, product) == [("USD", 1850, 2000)]
    actions = [action for action, _ in await events(db, actor=dashboard.id)]
    assert actions[-2:] == ["price_updated", "price_deleted"]
    page = (await dashboard.get(path)).text
    same = {name: field(page, name) for name in (f"price[{red}][USD]", f"compare[{red}][USD]")}
    assert saved_message(await dashboard.post(path, seen=field(page, "seen"), **same)) == "same"


async def test_every_invalid_price_gets_an_error_and_nothing_is_saved(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)
    red, blue = await variants_of(db, product)
    page = (await dashboard.get(f"{product}/prices")).text
    before = await prices_of(db, product)

    cells = {
        f"price[{red}][USD]": "1.999",
        f"compare[{red}][USD]": "much",
        f"price[{blue}][USD]": "",
        f"compare[{blue}][USD]": "5",
    }
    answer = await dashboard.post(f"{product}/prices", seen=field(page, "seen"), **cells)

    assert answer.status_code == 422
    messages = error_messages(answer)
    assert [text.partition(": ")[2] for text in messages] == [
        "Red, USD has more decimals than USD allows (2).",
        "Red, USD, compare-at price must be a number like 19.99.",
        "Blue, USD is required with a compare-at price.",
    ]
    for name, text in cells.items():
        assert field(answer.text, name) == text
    assert await prices_of(db, product) == before


async def test_a_concurrent_change_of_prices_is_409_and_shows_the_input_again(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product, _ = await new_variants(dashboard, db)
    red, blue = await variants_of(db, product)
    path = f"{product}/prices"
    snapshot = field((await dashboard.get(path)).text, "seen")
    first_prices = {f"price[{red}][USD]": "21.00", f"price[{blue}][USD]": "20.00"}
    second_prices = {f"price[{red}][USD]": "19.00", f"price[{blue}][USD]": "20.00"}
    assert saved_message(await other_dashboard.post(path, seen=snapshot, **first_prices)) == "saved"

    response = await dashboard.post(path, seen=snapshot, **second_prices)

    assert response.status_code == 409
    assert "<dd>21.00</dd>" in response.text
    assert field(response.text, f"price[{red}][USD]") == "19.00"
    assert (await prices_of(db, product))[0][1] == 2100
    assert saved_message(await dashboard.post(path, seen=field(response.text, "seen"), **second_prices)) == "saved"
    assert (await prices_of(db, product))[0][1] == 1900


async def test_a_product_without_variants_has_its_own_price(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="")
    master = str(await db.fetchval("select id from variants where product_id = $1", id_of(product)))
    snapshot = field((await dashboard.get(f"{product}/prices")).text, "seen")

    assert (
        saved_message(await dashboard.post(f"{product}/prices", seen=snapshot, **{f"price[{master}][USD]": "7"}))
        == "saved"
    )

    assert await db.fetchval("select amount from prices where variant_id::text = $1", master) == 700


@pytest.mark.parametrize("name", ["price", "price[]", "price[x]", "price[x][USD]", "price[{red}]", "price[{red}][XXX]"])
async def test_unknown_price_fields_are_ignored(dashboard: Dashboard, db: Any, name: str) -> None:
    product, _ = await new_variants(dashboard, db)
    red, _ = await variants_of(db, product)
    snapshot = field((await dashboard.get(f"{product}/prices")).text, "seen")

    answer = await dashboard.post(f"{product}/prices", seen=snapshot, **{name.format(red=red): "1"})

    # The form has no valid price field, so no variant has a price afterwards.
    assert saved_message(answer) == "saved"
    assert await prices_of(db, product) == []
