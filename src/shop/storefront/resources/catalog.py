"""Catalog resources: products, variants, options, properties, taxons and images."""

from typing import Any

from shop.base.money import plain_decimal
from shop.jsonapi.resource import RenderContext, computed, many, money, one, resource
from shop.models.catalog.images import Image
from shop.models.catalog.products import OptionValue
from shop.models.catalog.storefront import (
    StorefrontOptionType,
    StorefrontProduct,
    StorefrontProperty,
    StorefrontVariant,
)
from shop.models.catalog.taxons import StorefrontTaxon, Taxonomy
from shop.web.image_urls import original_url, styles, transformed_url


def _decimal(name: str) -> Any:
    def read(row: Any, _context: RenderContext) -> str | None:
        value = getattr(row, name)
        return None if value is None else plain_decimal(value)

    return computed(name, read, str | None)


def _purchasable(row: Any, _context: RenderContext) -> bool:
    return bool(row.purchasable)


def _options(variant: StorefrontVariant, _context: RenderContext) -> list[dict[str, str]]:
    return [{name: option[name] for name in ("name", "value", "presentation")} for option in variant.options]


_AVAILABILITY_FIELDS = (computed("purchasable", _purchasable, bool), "in_stock", "backorderable")
_PRICE_FIELDS = ("currency", money("price"), money("compare_at_price"))

PRODUCT = resource(
    "product",
    StorefrontProduct,
    attributes=[
        "name",
        "description",
        "available_on",
        "slug",
        "meta_description",
        "meta_keywords",
        "updated_at",
        "sku",
        "barcode",
        *_AVAILABILITY_FIELDS,
        "available",
        *_PRICE_FIELDS,
        "tags",
        computed("labels", lambda _product, _context: [], list[str]),
        "public_metadata",
        computed(
            "localized_slugs", lambda product, render_context: {render_context.locale: product.slug}, dict[str, str]
        ),
    ],
    relations=[
        many("variants", "variant"),
        many("option_types", "option_type"),
        many("product_properties", "product_property"),
        many("taxons", "taxon"),
        many("images", "image"),
        one("default_variant", "variant"),
        one("primary_variant", "variant"),
    ],
)
VARIANT = resource(
    "variant",
    StorefrontVariant,
    attributes=[
        "sku",
        "barcode",
        *(_decimal(name) for name in ("weight", "height", "width", "depth")),
        "is_master",
        computed("options_text", lambda variant, _context: variant.options_text),
        computed("options", _options, list[dict[str, str]]),
        *_AVAILABILITY_FIELDS,
        *_PRICE_FIELDS,
        "public_metadata",
    ],
    relations=[one("product", "product"), many("images", "image"), many("option_values", "option_value")],
)
OPTION_TYPE = resource(
    "option_type",
    StorefrontOptionType,
    attributes=["name", "presentation", "position", "public_metadata"],
    relations=[many("option_values", "option_value")],
)
OPTION_VALUE = resource(
    "option_value",
    OptionValue,
    attributes=["name", "presentation", "position", "public_metadata"],
    relations=[one("option_type", "option_type")],
)
PRODUCT_PROPERTY = resource(
    "product_property",
    StorefrontProperty,
    attributes=["name", "value", "description", "filter_param", "show_property", "position"],
)
TAXONOMY = resource("taxonomy", Taxonomy, attributes=["name", "position", "public_metadata"])

_TAXON_ATTRIBUTES = (
    "name",
    "pretty_name",
    "permalink",
    computed("seo_title", lambda taxon, _context: taxon.meta_title or taxon.name),
    "description",
    "meta_title",
    "meta_description",
    "meta_keywords",
    computed("left", lambda taxon, _context: taxon.lft, int),
    computed("right", lambda taxon, _context: taxon.rgt, int),
    "position",
    "depth",
    "updated_at",
    computed("is_root", lambda taxon, _context: taxon.parent_id is None, bool),
    computed("is_child", lambda taxon, _context: taxon.parent_id is not None, bool),
    computed("is_leaf", lambda taxon, _context: taxon.rgt - taxon.lft == 1, bool),
    "has_products",
    computed("header_url", lambda _taxon, _context: None, str | None),
    computed("localized_slugs", lambda taxon, render_context: {render_context.locale: taxon.permalink}, dict[str, str]),
    "public_metadata",
)
_TAXON_RELATIONS = (
    one("parent", "taxon"),
    one("taxonomy", "taxonomy"),
    many("children", "taxon"),
    one("image", "image"),
)
TAXON = resource("taxon", StorefrontTaxon, attributes=_TAXON_ATTRIBUTES, relations=_TAXON_RELATIONS)
TAXON_WITH_PRODUCTS = resource(
    "taxon", StorefrontTaxon, attributes=_TAXON_ATTRIBUTES, relations=[*_TAXON_RELATIONS, many("products", "product")]
)
"""The taxon as a single resource, with its products; in a list, taxons have no products."""

IMAGE = resource(
    "image",
    Image,
    attributes=[
        computed("styles", lambda image, _context: styles(image), list[dict[str, str]]),
        "position",
        "alt",
        computed("original_url", lambda image, render_context: original_url(image, render_context.props.image_options)),
        computed(
            "transformed_url",
            lambda image, render_context: transformed_url(image, render_context.props.image_options),
            str | None,
        ),
    ],
)
