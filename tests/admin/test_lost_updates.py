"""Of two operators who save the same form, the second one is told what changed, and can then save."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.admin.catalog.test_taxons import new_tree
from tests.admin.catalog_forms import (
    STOCK,
    new_customer,
    new_list,
    new_location,
    new_product,
    new_variants,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import Dashboard, new_role
from tests.admin.order_builders import ORDERS, buy, text_of
from tests.admin.page_forms import PageForm, read_page
from tests.admin.promotion_forms import add_part, new_promotion
from tests.admin.setup_forms import METHODS, new_zone
from tests.admin.webhooks.forms import create_endpoint
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer

Builder = Callable[[Dashboard, Any, Make], Awaitable[str]]


def form_of(page: str, action: str) -> PageForm:
    (form,) = [each for each in read_page(page)[1] if each.action == action]
    return form


async def build_promotion(dashboard: Dashboard, _db: Any, _make: Make) -> str:
    return await new_promotion(dashboard)


async def build_price_list(dashboard: Dashboard, _db: Any, _make: Make) -> str:
    return await new_list(dashboard)


async def build_role(_dashboard: Dashboard, db: Any, _make: Make) -> str:
    return f"/admin/settings/roles/{await new_role(db, 'orders:read')}"


async def build_endpoint(dashboard: Dashboard, _db: Any, _make: Make) -> str:
    return f"{(await create_endpoint(dashboard, 'https://erp.example.com/hooks')).path}/edit"


async def build_variant(dashboard: Dashboard, db: Any, _make: Make) -> str:
    product, skus = await new_variants(dashboard, db)
    return f"{product}/variants/{await db.fetchval('select id from variants where sku = $1', skus[0])}"


async def build_location(dashboard: Dashboard, db: Any, _make: Make) -> str:
    return f"{STOCK}/locations/{await new_location(dashboard, db)}"


async def build_group(dashboard: Dashboard, _db: Any, _make: Make) -> str:
    return redirect_path(await dashboard.post("/admin/customer-groups", name=f"Group {unique_word()}"))


async def build_taxon(dashboard: Dashboard, db: Any, _make: Make) -> str:
    _, _, (taxon_id,) = await new_tree(dashboard, db, "Kitchen")
    return f"/admin/taxons/{taxon_id}"


async def build_address(dashboard: Dashboard, db: Any, _make: Make) -> str:
    user_id = await db.fetchval("select id from users where email = $1", await new_customer(db))
    saved_message(await dashboard.post(f"/admin/customers/{user_id}/addresses/new", **ADDRESS))
    address_id = await db.fetchval("select id from addresses where user_id = $1", user_id)
    return f"/admin/customers/{user_id}/addresses/{address_id}"


@pytest.mark.parametrize(
    ("build", "name", "label"),
    [
        (build_promotion, "name", "Name"),
        (build_price_list, "name", "Name"),
        (build_role, "name", "Name"),
        (build_endpoint, "description", "Description"),
        (build_variant, "sku", "SKU"),
        (build_location, "city", "City"),
        (build_group, "description", "Description"),
        (build_taxon, "name", "Name"),
        (build_address, "city", "City"),
    ],
)
async def test_the_second_of_two_operators_sees_what_changed(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any, make: Make, build: Builder, name: str, label: str
) -> None:
    path = await build(dashboard, db, make)
    fields = form_of((await dashboard.get(path)).text, path).fields
    mine, other = f"Mine {unique_word()}", f"Other {unique_word()}"
    assert saved_message(
        await other_dashboard.post(path, **{**fields, "csrf": await other_dashboard.csrf(), name: other})
    )

    refusal = await dashboard.post(path, **{**fields, name: mine})

    assert refusal.status_code == 409
    assert "Someone else changed it; review the changes and try again." in refusal.text
    assert f"Current values that differ: {label} {other}" in text_of(refusal.text)
    assert other in (await dashboard.get(path)).text
    again = form_of(refusal.text, path).fields
    assert again[name] == mine
    saved_message(await dashboard.post(path, **again))
    assert mine in (await dashboard.get(path)).text


async def test_a_conflict_shows_permissions_that_changed(dashboard: Dashboard, db: Any, make: Make) -> None:
    path = await build_role(dashboard, db, make)
    fields = form_of((await dashboard.get(path)).text, path).fields
    saved_message(await dashboard.post(path, **{**fields, "permissions[]": ["orders:read", "products:read"]}))

    refusal = await dashboard.post(path, **fields)

    assert refusal.status_code == 409
    assert "Permissions orders:read, products:read" in text_of(refusal.text)


async def test_a_zone_whose_countries_changed_is_not_overwritten(dashboard: Dashboard, db: Any, make: Make) -> None:
    path = f"/admin/settings/zones/{await new_zone(dashboard, db, make, 'US', 'DE')}"
    fields = form_of((await dashboard.get(path)).text, path).fields
    one_country = {**fields, "country_ids[]": fields["country_ids[]"][:1]}
    assert saved_message(await dashboard.post(path, **one_country)) == "saved"

    refusal = await dashboard.post(path, **fields)

    assert refusal.status_code == 409
    assert "1 chosen" in text_of(refusal.text)


async def test_a_shipping_method_whose_prices_changed_is_not_overwritten(
    dashboard: Dashboard, make: Make, buyer: Buyer
) -> None:
    path = f"{METHODS}/{buyer.checkout_setup.post}"
    fields = form_of((await dashboard.get(path)).text, path).fields
    amount = next(name for name in fields if name.endswith("[USD]"))
    assert saved_message(await dashboard.post(path, **{**fields, amount: "5.01"})) == "saved"

    refusal = await dashboard.post(path, **fields)

    assert refusal.status_code == 409
    assert "5.01" in text_of(refusal.text)
    again = form_of(refusal.text, path).fields
    assert saved_message(await dashboard.post(path, **again)) == "saved"


async def test_a_condition_that_changed_is_shown_as_it_is_now(dashboard: Dashboard, db: Any) -> None:
    promotion = await new_promotion(dashboard)
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "10"})
    rule_id = await db.fetchval("select id from promotion_rules where promotion_id::text = $1", promotion[-36:])
    path = f"{promotion}/conditions/{rule_id}"
    fields = form_of((await dashboard.get(path)).text, path).fields
    assert saved_message(await dashboard.post(path, **{**fields, "amounts[USD]": "20"})) == "changed"

    refusal = await dashboard.post(path, **{**fields, "amounts[USD]": "30"})

    assert refusal.status_code == 409
    assert "This condition was changed by someone else meanwhile." in text_of(refusal.text)
    again = form_of(refusal.text, path).fields
    assert again["amounts[USD]"] == "20.00"
    assert saved_message(await dashboard.post(path, **{**again, "amounts[USD]": "30"})) == "changed"


async def test_categories_and_properties_that_others_changed_meanwhile_stay(dashboard: Dashboard, db: Any) -> None:
    _, _, (first, second, third) = await new_tree(dashboard, db, "Kitchen", "Bath", "Garden")
    product = await new_product(dashboard)
    await dashboard.post(f"{product}/taxons", **{"taxon_ids[]": [first]})
    await dashboard.post(f"{product}/properties", new_name="Material", new_value="Oak")
    await dashboard.post(f"{product}/properties", new_name="Origin", new_value="Spain")
    page = (await dashboard.get(f"{product}/places")).text
    taxons, properties = [form_of(page, f"{product}/{name}").fields for name in ("taxons", "properties")]
    oak, spain = sorted((name for name in properties if name.startswith("value")), key=lambda each: properties[each])

    await dashboard.post(f"{product}/taxons", **{**taxons, "taxon_ids[]": [first, second]})
    await dashboard.post(f"{product}/properties", **{**properties, oak: "Ash"})
    await dashboard.post(f"{product}/taxons", **{**taxons, "taxon_ids[]": [third]})
    other_property = await dashboard.post(f"{product}/properties", **{**properties, spain: "Portugal"})
    same_property = await dashboard.post(f"{product}/properties", **{**properties, oak: "Elm"})

    taxon_ids = "select taxon_id::text from classifications where product_id::text = $1"
    assert {row[0] for row in await db.fetch(taxon_ids, product[-36:])} == {second, third}
    assert saved_message(other_property) == "properties"
    values = "select value from product_properties where product_id::text = $1 order by position"
    assert [row[0] for row in await db.fetch(values, product[-36:])] == ["Ash", "Portugal"]
    assert same_property.status_code == 422
    assert "was changed to “Ash” meanwhile; save again to replace it" in same_property.text
    again = form_of(same_property.text, f"{product}/properties").fields
    assert again[oak] == "Elm"
    assert saved_message(await dashboard.post(f"{product}/properties", **again)) == "properties"


async def test_a_tag_that_was_added_meanwhile_is_not_removed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}"
    fields = form_of((await dashboard.get(path)).text, f"{path}/details").fields
    tag = unique_word()
    await dashboard.post(f"{ORDERS}/bulk", **{"numbers[]": [order["number"]], "do": "tag", "tag": tag})
    tags = "select tags from orders where number = $1"
    assert await db.fetchval(tags, order["number"]) == [tag]

    refusal = await dashboard.post(f"{path}/details", **{**fields, "tags": "gift"})

    assert refusal.status_code == 409
    assert f"Current values that differ: Tags {tag}" in text_of(refusal.text)
    assert await db.fetchval(tags, order["number"]) == [tag]
    again = form_of(refusal.text, f"{path}/details").fields
    assert again["tags"] == "gift"
    assert saved_message(await dashboard.post(f"{path}/details", **{**again, "tags": f"gift, {tag}"})) == "saved"
    assert await db.fetchval(tags, order["number"]) == sorted(["gift", tag])
