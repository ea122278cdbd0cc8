"""A product's options and variants, its images, its taxons and properties."""

import re
from typing import Any
from uuid import UUID

import pytest

from shop.rules.catalog.images import MAX_FILE_BYTES
from tests.admin.catalog_forms import (
    TAXONS,
    error_messages,
    field,
    id_of,
    image_data,
    new_options,
    new_product,
    new_variants,
    saved_message,
    unique_word,
    upload,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events

SKUS = "select sku from variants where product_id = $1 and not is_master and deleted_at is null order by position"


async def skus_of(db: Any, product: str) -> list[str]:
    return [row["sku"] for row in await db.fetch(SKUS, id_of(product))]


async def test_missing_options_and_values_are_created_once(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    (kind, values), *_ = (await new_options(dashboard, product, db, Color="Red, dark  Green,, red")).values()

    again = {"option_type_ids[]": [kind], f"values[{kind}]": "RED, Blue"}
    assert saved_message(await dashboard.post(f"{product}/options", **again)) == "options"

    rows = await db.fetch(
        "select name, presentation from option_values where option_type_id = $1 order by position", UUID(kind)
    )
    assert [tuple(row) for row in rows] == [("red", "Red"), ("dark-green", "dark Green"), ("blue", "Blue")]
    assert len(values) == 2
    assert ("option_type_created", "done") in await events(db, actor=dashboard.id, subject=UUID(kind))


async def test_removing_an_option_in_use_is_refused(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)

    answer = await dashboard.post(f"{product}/options")

    assert answer.status_code == 422
    assert re.fullmatch(r"Options must include Color \w+, which existing variants use\.", error_messages(answer)[0])


async def test_an_unused_option_can_be_removed(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    await new_options(dashboard, product, db, Color="Red")

    assert saved_message(await dashboard.post(f"{product}/options")) == "options"

    assert await db.fetchval("select count(*) from product_option_types where product_id = $1", id_of(product)) == 0


async def test_generating_combinations_creates_only_missing_variants(dashboard: Dashboard, db: Any) -> None:
    product, prefix = await new_product(dashboard), unique_word()
    options = await new_options(dashboard, product, db, Color="Red, Blue", Size="S, L")
    (color, colors), (size, sizes) = options.values()
    fields = {
        f"values[{color}][]": colors[:1],
        f"values[{size}][]": sizes,
        "sku_prefix": prefix,
        "each_price": "9.50",
    }

    assert saved_message(await dashboard.post(f"{product}/variants/generate", **fields)) == "generated"
    assert saved_message(await dashboard.post(f"{product}/variants/generate", **fields)) == "none"
    more = {**fields, f"values[{color}][]": colors}
    assert saved_message(await dashboard.post(f"{product}/variants/generate", **more)) == "generated"

    assert await skus_of(db, product) == [f"{prefix}-{end}" for end in ("RED-S", "RED-L", "BLUE-S", "BLUE-L")]
    prices = await db.fetch(
        "select amount from prices join variants v on v.id = variant_id where product_id = $1 and not is_master",
        id_of(product),
    )
    assert [row["amount"] for row in prices] == [950] * 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"values": False}, "Select at least one value of {}."),
        ({"each_price": "0.001"}, "Price of each has more decimals than USD allows (2)."),
        ({"sku_prefix": "p" * 51}, "SKU begins with must be one line of at most 50 characters."),
    ],
)
async def test_invalid_combinations_are_refused_and_the_selection_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, Any], message: str
) -> None:
    product = await new_product(dashboard)
    (kind, values), *_ = (await new_options(dashboard, product, db, Color="Red, Blue")).values()
    ticked_values = values if fields.pop("values", True) else []

    name = await db.fetchval("select presentation from option_types where id::text = $1", kind)

    answer = await dashboard.post(f"{product}/variants/generate", **{f"values[{kind}][]": ticked_values, **fields})

    assert (answer.status_code, error_messages(answer)) == (422, [message.format(name)])
    assert re.findall(r'name="values[^>]* value="([^"]+)" checked', answer.text) == ticked_values
    assert await skus_of(db, product) == []


async def test_at_most_100_variants_are_generated_at_once(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    many = ", ".join(str(number) for number in range(11))
    options = await new_options(dashboard, product, db, One=many, Two=many)
    fields = {f"values[{kind}][]": values for kind, values in options.values()}

    answer = await dashboard.post(f"{product}/variants/generate", **fields)

    assert error_messages(answer) == ["Values would create 121 variants; create at most 100 at once."]


async def test_a_generated_sku_in_use_is_refused(dashboard: Dashboard, db: Any) -> None:
    product, prefix = await new_product(dashboard), unique_word()
    await new_product(dashboard, sku=f"{prefix}-RED")
    (kind, values), *_ = (await new_options(dashboard, product, db, Color="Red, Blue")).values()

    answer = await dashboard.post(f"{product}/variants/generate", **{f"values[{kind}][]": values, "sku_prefix": prefix})

    assert error_messages(answer) == [f"SKU begins with creates {prefix}-RED, the SKU of another variant."]
    assert await skus_of(db, product) == []


async def test_a_variant_is_created_updated_and_deleted(dashboard: Dashboard, db: Any) -> None:
    product, sku = await new_product(dashboard), unique_word()
    (kind, (red, blue)), *_ = (await new_options(dashboard, product, db, Color="Red, Blue")).values()

    response = await dashboard.post(f"{product}/variants", **{f"option[{kind}]": red, "sku": sku, "price": "12.00"})
    assert saved_message(response) == "added"
    variant = await db.fetchval("select id from variants where sku = $1", sku)
    path = f"{product}/variants/{variant}"
    page = (await dashboard.get(path)).text
    assert field(page, "sku") == sku
    changes = {f"option[{kind}]": blue, "sku": f"{sku}-2", "barcode": "4006381333931", "weight": "0.75"}
    assert saved_message(await dashboard.post(path, **changes)) == "saved"

    row = await db.fetchrow("select sku, barcode, weight, track_inventory from variants where id = $1", variant)
    assert (row["sku"], row["barcode"], str(row["weight"]), row["track_inventory"]) == (
        f"{sku}-2",
        "4006381333931",
        "0.75",
        False,
    )
    assert (
        str(await db.fetchval("select option_value_id from variant_option_values where variant_id = $1", variant))
        == blue
    )
    assert "Customers will no longer be able to buy this variant." in (await dashboard.get(f"{path}/remove")).text
    assert saved_message(await dashboard.post(f"{path}/remove")) == "removed"
    assert await skus_of(db, product) == []
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=variant)]
    assert actions == ["variant_created", "variant_updated", "variant_deleted"]


async def test_a_variant_needs_every_option_and_a_unique_combination(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    (kind, (red, *_)), *_ = (await new_options(dashboard, product, db, Color="Red")).values()

    missing = await dashboard.post(f"{product}/variants", **{f"option[{kind}]": "", "sku": "kept", "price": "x"})
    foreign = await dashboard.post(f"{product}/variants", **{f"option[{kind}]": UNKNOWN_ID})
    saved_message(await dashboard.post(f"{product}/variants", **{f"option[{kind}]": red}))
    twice = await dashboard.post(f"{product}/variants", **{f"option[{kind}]": red})

    assert error_messages(missing) == ["Price must be a number like 19.99."]
    assert field(missing.text, "sku") == "kept"
    assert re.fullmatch(r"Color \w+ must be chosen\.", error_messages(foreign)[0])
    assert error_messages(twice) == ["Options are those of another variant of this product."]


async def test_the_master_cannot_be_deleted(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    master = await db.fetchval("select id from variants where product_id = $1", id_of(product))

    answer = await dashboard.post(f"{product}/variants/{master}/remove")

    assert answer.status_code == 422
    assert await db.fetchval("select deleted_at from variants where id = $1", master) is None


async def test_images_are_uploaded_described_reordered_and_deleted(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    path = f"{product}/images"

    assert (
        saved_message(await upload(dashboard, path, image_data("#f00"), image_data("#0f0"), new_alt="A mug")) == "added"
    )
    first, second = [
        row["id"]
        for row in await db.fetch("select id from images where product_id = $1 order by position", id_of(product))
    ]
    assert saved_message(await dashboard.post(f"{path}/{second}", alt="From the side", variant_id="")) == "saved"
    assert saved_message(await dashboard.post(f"{path}/{second}/up")) == "moved"
    assert saved_message(await dashboard.post(f"{path}/{second}/up")) == "moved"

    page = (await dashboard.get(path)).text
    assert re.findall(r'<li class="card" id="image-([^"]+)"', page) == [str(second), str(first)]
    assert 'alt="From the side"' in page
    match = re.search(r'src="(/media/[^"]+)"', page)
    assert match
    assert (await dashboard.http.get(match[1])).headers["content-type"] == "image/webp"
    assert (
        f"/media/{second}/"
        in (
            await dashboard.http.get(
                "/admin/products",
                params={"q": field((await dashboard.get(product)).text, "name")},
                headers=dashboard.cookie,
            )
        ).text
    )
    assert saved_message(await dashboard.post(f"{path}/{second}/down")) == "moved"
    assert saved_message(await dashboard.post(f"{path}/{second}/remove")) == "removed"
    assert await db.fetchval("select array_agg(id) from images where product_id = $1", id_of(product)) == [first]
    assert ("image_deleted", "done") in await events(db, actor=dashboard.id, subject=second)


async def test_an_invalid_file_is_refused_and_the_valid_ones_are_saved(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    path = f"{product}/images"

    response = await upload(dashboard, path, image_data(), b"<svg onload=alert(1)>", new_alt="kept")
    nothing = await upload(dashboard, path, b"")

    assert response.status_code == 422
    assert error_messages(response)[0].startswith("File 2 ")
    assert field(response.text, "new_alt") == "kept"
    assert await db.fetchval("select count(*) from images where product_id = $1", id_of(product)) == 1
    assert error_messages(nothing) == ["Images must be chosen."]


async def test_an_image_of_another_product_is_404(dashboard: Dashboard, db: Any) -> None:
    product, other = await new_product(dashboard), await new_product(dashboard)
    await upload(dashboard, f"{product}/images", image_data())
    image = await db.fetchval("select id from images where product_id = $1", id_of(product))

    for verb in ("", "/up", "/down", "/remove"):
        assert (await dashboard.post(f"{other}/images/{image}{verb}")).status_code == 404
    fields_of_other = {
        "alt": "",
        "variant_id": str(await db.fetchval("select id from variants where product_id = $1", id_of(other))),
    }
    assert (await dashboard.post(f"{product}/images/{image}", **fields_of_other)).status_code == 422


async def test_an_upload_without_session_or_csrf_token_is_refused_before_it_is_read(
    dashboard: Dashboard, db: Any
) -> None:
    product = await new_product(dashboard)
    token = await dashboard.csrf()
    files = [("files", ("a.png", image_data(), "image/png"))]
    same_origin = {"Sec-Fetch-Site": "same-origin"}

    async def upload_status(headers: dict[str, str], csrf: str = token) -> int:
        answer = await dashboard.http.post(f"{product}/images", data={"csrf": csrf}, files=files, headers=headers)
        return answer.status_code

    assert await upload_status(dashboard.cookie) == 403
    assert await upload_status(same_origin) == 403
    assert await upload_status({**same_origin, **dashboard.cookie}, "x") == 403

    async def oversized_upload_status() -> int:
        media = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = await dashboard.http.post(
            f"{product}/images",
            content=b"x" * (MAX_FILE_BYTES + 2**20),
            headers={**same_origin, **dashboard.cookie, **media},
        )
        return answer.status_code

    assert await oversized_upload_status() == 413
    await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", dashboard.id)
    assert await upload_status({**same_origin, **dashboard.cookie}) == 401
    # The session is checked before the size of the body.
    assert await oversized_upload_status() == 401
    assert await db.fetchval("select count(*) from images where product_id = $1", id_of(product)) == 0


async def test_taxons_are_selected_and_deselected(dashboard: Dashboard, db: Any) -> None:
    product, name = await new_product(dashboard), unique_word()
    saved_message(await dashboard.post(TAXONS, tree_name=name))
    root = await db.fetchval("select id from taxons where name = $1", name)
    for child in ("Cups", "Pans"):
        saved_message(await dashboard.post(f"{TAXONS}/add", taxon_name=child, parent_id=str(root)))
    cups, pans = [
        str(row["id"]) for row in await db.fetch("select id from taxons where parent_id = $1 order by lft", root)
    ]
    path = f"{product}/taxons"

    assert saved_message(await dashboard.post(path, **{"taxon_ids[]": [cups, UNKNOWN_ID, "x"]})) == "taxons"
    assert f'value="{cups}" checked' in (await dashboard.get(f"{product}/places")).text
    assert saved_message(await dashboard.post(path, **{"taxon_ids[]": [pans], "former_ids[]": [cups]})) == "taxons"

    rows = await db.fetch("select taxon_id from classifications where product_id = $1", id_of(product))
    assert [str(row["taxon_id"]) for row in rows] == [pans]
    count = len(await events(db, subject=id_of(product)))
    saved_message(await dashboard.post(path, **{"taxon_ids[]": [pans]}))
    assert len(await events(db, subject=id_of(product))) == count


async def test_properties_are_added_updated_and_deleted_by_an_empty_value(dashboard: Dashboard, db: Any) -> None:
    product, name = await new_product(dashboard), f"Material {unique_word()}"
    path = f"{product}/properties"

    assert saved_message(await dashboard.post(path, new_name=name, new_value="Wool")) == "properties"
    row = await db.fetchrow("select * from product_properties where product_id = $1", id_of(product))
    saved_message(await dashboard.post(path, **{f"value[{row['id']}]": "Cotton"}))
    assert await db.fetchval("select value from product_properties where id = $1", row["id"]) == "Cotton"
    twice = await dashboard.post(path, **{f"value[{row['id']}]": "Silk", "new_name": name.upper(), "new_value": "x"})
    half = await dashboard.post(path, new_name="Only a name")
    long = await dashboard.post(path, **{f"value[{row['id']}]": "v" * 251})

    assert error_messages(twice) == ["New property already exists; change its value above."]
    assert await db.fetchval("select value from product_properties where id = $1", row["id"]) == "Cotton"
    assert error_messages(half) == ["Value is required too."]
    assert error_messages(long) == [f"{name} must be one line of at most 250 characters."]
    saved_message(await dashboard.post(path, **{f"value[{row['id']}]": " "}))
    assert await db.fetchval("select count(*) from product_properties where product_id = $1", id_of(product)) == 0
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=row["id"])]
    assert actions == ["product_property_created", "product_property_updated", "product_property_deleted"]


async def test_combinations_need_a_value_of_each_option(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    (color, colors), (size, _) = (await new_options(dashboard, product, db, Color="Red, Blue", Size="S, L")).values()

    answer = await dashboard.post(f"{product}/variants/generate", **{f"values[{color}][]": colors})

    assert (answer.status_code, error_messages(answer)[0][:34]) == (422, "Select at least one value of Size ")
    assert f'id="error-choice-{size}"' in answer.text
    assert f'<a href="{product}/variants" aria-current="page">Variants</a>' in answer.text
    assert await skus_of(db, product) == []
