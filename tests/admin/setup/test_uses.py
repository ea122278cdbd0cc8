"""Pages that delete a record list what uses it."""

import re
from typing import Any
from uuid import UUID, uuid4

from shop.admin.uses import list_website_uses
from shop.models.setup.shop import Shop
from tests.admin.catalog.test_taxons import new_tree
from tests.admin.catalog_forms import (
    id_of,
    new_customer,
    new_list,
    new_location,
    new_product,
    new_variants,
    redirect_path,
    unique_word,
)
from tests.admin.dashboard import Dashboard
from tests.admin.promotion_forms import add_part, new_promotion
from tests.admin.setup_forms import SHIPPING, ZONES, new_zone
from tests.admin.stock.test_deliveries import new_delivery
from tests.builders import Make


async def uses_of(dashboard: Dashboard, path: str) -> dict[str, str]:
    """The counts of the uses that a page lists, by their link or name."""
    page = (await dashboard.get(path)).text.partition("<main")[2]
    return dict(re.findall(r'<li>(?:<a href="([^"]*)">)?.*?: ([0-9]+)</li>', page))


async def test_a_group_lists_its_members_price_lists_and_promotions(dashboard: Dashboard, db: Any) -> None:
    group = redirect_path(await dashboard.post("/admin/customer-groups", name=f"Group {unique_word()}"))
    group_id = str(id_of(group))
    assert await uses_of(dashboard, f"{group}/delete") == {}

    await dashboard.post(f"{group}/members", emails="\n".join([await new_customer(db) for _ in range(2)]))
    price_list = await new_list(dashboard)
    await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [group_id]})
    await add_part(
        dashboard, await new_promotion(dashboard), "conditions", "customer_group", **{"group_ids[]": [group_id]}
    )

    assert await uses_of(dashboard, f"{group}/delete") == {
        f"/admin/customers?group={group_id}": "2",
        "/admin/price-lists": "1",
        "/admin/promotions": "1",
    }
    assert await uses_of(dashboard, f"{price_list}/delete") == {f"{price_list}/customers": "1"}


async def test_a_category_and_a_product_list_what_uses_them(dashboard: Dashboard, db: Any, make: Make) -> None:
    _, _, (taxon_id,) = await new_tree(dashboard, db, "Kitchen")
    product = await new_product(dashboard)
    assert await uses_of(dashboard, f"/admin/taxons/{taxon_id}/remove") == {}

    await make.new("classifications", "classification", product_id=str(id_of(product)), taxon_id=taxon_id)
    promotion = await new_promotion(dashboard)
    await add_part(dashboard, promotion, "conditions", "taxon", **{"taxon_ids[]": [taxon_id]})
    await add_part(dashboard, promotion, "conditions", "product", **{"product_ids[]": [str(id_of(product))]})

    root = await db.fetchval("select parent_id from taxons where id = $1", UUID(taxon_id))
    assert await uses_of(dashboard, f"/admin/taxons/{root}/remove") == {"": "1", "/admin/promotions": "1"}
    assert await uses_of(dashboard, f"/admin/taxons/{taxon_id}/remove") == {"": "1", "/admin/promotions": "1"}
    assert await uses_of(dashboard, f"{product}/delete") == {"/admin/promotions": "1"}


async def test_a_variant_and_its_product_list_price_lists_stock_deliveries_and_menus(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    product, skus = await new_variants(dashboard, db)
    variant_id = str(await db.fetchval("select id from variants where sku = $1", skus[0]))
    removal = f"{product}/variants/{variant_id}/remove"
    assert await uses_of(dashboard, removal) == await uses_of(dashboard, f"{product}/delete") == {}

    price_list, location_id = await new_list(dashboard), await new_location(dashboard, db)
    await dashboard.post(f"{price_list}/entries/add", sku=skus[0], amount="5", min_quantity="1")
    await make.new("stock_items", "stock_item", variant_id=variant_id, stock_location_id=location_id, count_on_hand=3)
    await new_delivery(dashboard, location_id, f"{skus[0]} 4")
    menu = await make.new("menus", "menu", name=unique_word(), location=unique_word())
    link = {"linked_resource_type": "Spree::Product", "linked_resource_id": str(id_of(product))}
    await make.new("menu_items", "menu_item", name="Mug", menu_id=menu.id, **link)

    uses = {"/admin/price-lists": "1", "/admin/stock": "1", "/admin/stock/deliveries": "1"}
    assert await uses_of(dashboard, removal) == uses
    assert await uses_of(dashboard, f"{product}/delete") == {**uses, "": "1"}


async def test_a_zone_can_be_deleted_after_the_shipping_methods_that_used_it(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    zone_id = await new_zone(dashboard, db, make, "US")
    category = await make.new("shipping_categories", "shipping_category", name=unique_word())
    fields = {"name": "Post", "amounts": {"CHF": "5"}, "zone_ids": [zone_id], "shipping_category_ids": [category.id]}
    method = await make.new("shipping_methods", "shipping_method", **fields)
    assert await uses_of(dashboard, f"{ZONES}/{zone_id}/delete") == {SHIPPING: "1"}

    await make.remove("shipping_methods", method.id)

    assert await uses_of(dashboard, f"{ZONES}/{zone_id}/delete") == {}
    assert (await dashboard.post(f"{ZONES}/{zone_id}/delete")).status_code == 303
    await make.remove("shipping_categories", category.id)


def test_the_home_page_uses_the_records_that_it_shows() -> None:
    record_id = uuid4()
    assert list_website_uses(Shop(currencies=["USD"]), record_id) == []

    for name in ("hero_taxon_id", "promotion_id", "featured_taxon_ids", "featured_product_ids"):
        website: dict[str, Any] = {name: [str(record_id)] if name.endswith("s") else str(record_id)}
        assert [use.count for use in list_website_uses(Shop(currencies=["USD"], website=website), record_id)] == [1]
