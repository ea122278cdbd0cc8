"""The floor of the catalog: the shop's own statements for one page of products, with minimal rendering."""

from typing import Any

import msgspec

from bench.floor_platform import encode
from shop.base.listing import Page
from shop.base.money import money_text, wire_decimal
from shop.jsonapi.encoder import wire_time
from shop.jsonapi.resource import Attribute
from shop.models.catalog.product_query import ProductQuery, query_shape
from shop.models.catalog.storefront import StorefrontProduct
from shop.queries.catalog import priced_products, product_lists, storefront, versions
from shop.queries.catalog.product_index import ROOT_SCOPE_ID, currency_facet
from shop.rules.catalog.images import styles_of
from shop.storefront.resources.catalog import PRODUCT, VARIANT

QUERY = ProductQuery(currency="USD", page=Page(1, 25))
_PAGE = product_lists._page(query_shape(QUERY), "walk", StorefrontProduct, is_personal=False)
_BY_SLUG = priced_products._one_product("slug", is_personal=False)
_VALUES: dict[str, Any] = {"currency": "USD", "most": 25}
_PRODUCT = [field.name for field in PRODUCT.fields if isinstance(field, Attribute)]
_VARIANT = [field.name for field in VARIANT.fields if isinstance(field, Attribute)]
_MANY = {
    "variants": ("variant", "variant_ids"),
    "option_types": ("option_type", "option_type_ids"),
    "product_properties": ("product_property", "property_ids"),
    "taxons": ("taxon", "taxon_ids"),
    "images": ("image", "image_ids"),
}
LINKS = {"self": "", "next": "", "prev": "", "last": "", "first": ""}
text = money_text("USD", "en-US")


class FloorCatalog:
    """Lists products publicly, with their default variants and images."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.statements = 0

    async def product(self, slug: str) -> bytes:
        """Shows one product, in one statement."""
        async with self.pool.acquire() as connection:
            row = await connection.fetchrow(_BY_SLUG.sql, *_BY_SLUG.arguments({"slug": slug, "currency": "USD"}))
        self.statements += 1
        return encode({"data": _product(row)})

    async def products(self, page_number: int = 1) -> bytes:
        async with self.pool.acquire() as connection:

            async def run(statement: Any, **values: Any) -> Any:
                self.statements += 1
                return await connection.fetch(statement.sql, *statement.arguments(values))

            await run(versions._STATE)
            page = await run(_PAGE, **_VALUES, skip=25 * (page_number - 1))
            facets = await run(storefront._FACETS, scopes=[ROOT_SCOPE_ID], currency_facet=currency_facet("USD"))
            variants = await run(storefront._VARIANTS, ids=[row["default_variant_id"] for row in page])
            images = await run(storefront._IMAGES, ids=[each for row in page for each in row["image_ids"]])
        count = next(row["product_count"] for row in facets if row["kind"] == "everywhere")
        amounts = {row["default_variant_id"]: row["price"] for row in page}
        included = [_image(row) for row in images] + [_variant(row, amounts.get(row["id"])) for row in variants]
        meta = {"count": len(page), "total_count": count, "total_pages": -(-count // 25), "filters": _filters(facets)}
        return encode({"data": [_product(row) for row in page], "included": included, "meta": meta, "links": LINKS})


def _product(row: Any) -> dict[str, Any]:
    attributes = {name: row[name] for name in _PRODUCT}
    attributes["updated_at"], attributes["available_on"] = wire_time(row["updated_at"]), wire_time(row["available_on"])
    attributes |= {"purchasable": row["in_stock"] or row["backorderable"], "labels": []}
    attributes["localized_slugs"] = {"en-US": row["slug"]}
    relationships: dict[str, Any] = {
        name: {"data": [{"id": each, "type": kind} for each in row[field]]} for name, (kind, field) in _MANY.items()
    }
    relationships["default_variant"] = {"data": {"id": row["default_variant_id"], "type": "variant"}}
    relationships["primary_variant"] = {"data": {"id": row["master_id"], "type": "variant"}}
    return {
        "id": row["id"],
        "type": "product",
        "attributes": attributes | _amounts(row["price"]),
        "relationships": relationships,
    }


def _variant(row: Any, amount: int | None) -> dict[str, Any]:
    attributes = {name: row[name] for name in _VARIANT if name not in {"currency", "options"}}
    options = msgspec.json.decode(row["options"]) if isinstance(row["options"], str) else row["options"]
    attributes |= {
        "options": [{name: option[name] for name in ("name", "value", "presentation")} for option in options],
        "options_text": ", ".join(f"{option['presentation_of_type']}: {option['presentation']}" for option in options),
        "currency": "USD",
        "purchasable": row["in_stock"] or row["backorderable"],
        **dict.fromkeys(("weight", "height", "width", "depth")),
    }
    return {
        "id": row["id"],
        "type": "variant",
        "attributes": attributes | _amounts(amount),
        "relationships": {
            "product": {"data": {"id": row["product_id"], "type": "product"}},
            "images": {"data": [{"id": each, "type": "image"} for each in row["image_ids"]]},
            "option_values": {"data": [{"id": each, "type": "option_value"} for each in row["option_value_ids"]]},
        },
    }


def _image(row: Any) -> dict[str, Any]:
    url = f"http://127.0.0.1/media/{row['id']}/"
    styles = [
        {"url": url + style.name, "size": f"{style.width}x{style.height}", "width": style.width, "height": style.height}
        for style in styles_of(row["width"], row["height"])
    ]
    attributes = {"styles": styles, "position": row["position"], "alt": row["alt"], "original_url": styles[-1]["url"]}
    return {"id": row["id"], "type": "image", "attributes": attributes | {"transformed_url": None}, "relationships": {}}


def _amounts(amount: int | None) -> dict[str, Any]:
    price = None if amount is None else wire_decimal(amount, 2)
    return {
        "price": price,
        "display_price": None if amount is None else text(amount),
        "compare_at_price": None,
        "display_compare_at_price": None,
    }


def _filters(facets: Any) -> dict[str, Any]:
    owners: dict[Any, dict[str, Any]] = {}
    for row in facets:
        owner = {"id": row["owner_id"], "name": row["owner_name"], "presentation": row["owner_presentation"]}
        values = owners.setdefault(row["owner_id"], {**owner, "kind": row["kind"], "values": []})
        values["values"].append({"id": row["id"], "name": row["name"], "presentation": row["presentation"]})
    return {"option_types": list(owners.values())}
