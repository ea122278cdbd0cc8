"""Validates products and variants, and derives slugs and property values."""

from collections.abc import Collection, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from shop.base.texts import slug_of
from shop.base.values import REQUIRED
from shop.models.catalog.inputs import DimensionsInput, ProductInput
from shop.models.catalog.products import STATUSES, Product

Errors = dict[str, list[str]]
_NAMESPACE = uuid5(NAMESPACE_URL, "https://shop.invalid/facets")


def product_errors(values: ProductInput, existing: Product | None = None) -> Errors:
    """Validates new values together with those of the existing product."""
    errors: Errors = {}
    if "name" in values and not values["name"].strip():
        errors["name"] = [REQUIRED]
    if values.get("status", "draft") not in STATUSES:
        errors["status"] = [f"must be one of {', '.join(STATUSES)}"]
    if "slug" in values and existing and not values["slug"]:
        errors["slug"] = [REQUIRED]
    elif values.get("slug") and slug_of(values["slug"]) != values["slug"]:
        errors["slug"] = ["may contain only lowercase letters, digits and single hyphens"]
    starts = values.get("available_on", existing.available_on if existing else None)
    ends = values.get("discontinue_on", existing.discontinue_on if existing else None)
    if starts and ends and ends <= starts:
        errors["discontinue_on"] = ["must be later than available_on"]
    return errors


def size_errors(values: DimensionsInput) -> Errors:
    """Validates the weight and dimensions of a variant."""
    sizes = {
        "weight": values.get("weight"),
        "height": values.get("height"),
        "width": values.get("width"),
        "depth": values.get("depth"),
    }
    return {
        name: ["must be from 0 to 999999999"]
        for name, value in sizes.items()
        if value is not None and not 0 <= value < 10**9
    }


def free_slug(base_slug: str, existing_slugs: Collection[str]) -> str:
    """Returns the slug, or the first free one of `slug-2`, `slug-3` …"""
    number, slug = 2, base_slug
    while slug in existing_slugs:
        slug, number = f"{base_slug}-{number}", number + 1
    return slug


def option_errors(
    option_pairs: Sequence[tuple[UUID, UUID]], value_ids: Collection[UUID], others: Collection[frozenset[UUID]]
) -> Errors:
    """Validates the option values of a variant.

    `option_pairs` are the type and value ids of those that exist. All must exist, with at most one per type, and no
    other variant of the product may have the same values.
    """
    existing_ids = {value for _, value in option_pairs}
    if len(existing_ids) != len(set(value_ids)):
        return {"option_value_ids": ["name an option value that does not exist"]}
    if len({kind for kind, _ in option_pairs}) != len(option_pairs):
        return {"option_value_ids": ["have two values of one option type"]}
    if existing_ids and frozenset(existing_ids) in others:
        return {"option_value_ids": ["are those of another variant of this product"]}
    return {}


def facet_id(property_id: UUID, filter_param: str) -> UUID:
    """Returns the id of a property value, the same for all products."""
    return uuid5(_NAMESPACE, f"{property_id}/{filter_param}")


def property_fields(property_id: UUID, value: str) -> dict[str, object]:
    """Returns the columns derived from a property value."""
    param = filter_param(value)
    return {"value": value, "filter_param": param, "facet_id": facet_id(property_id, param)}


def filter_param(value: str) -> str:
    """Returns a property value in URL form; idempotent."""
    return slug_of(value) or value.strip().lower()
