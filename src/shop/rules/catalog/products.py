"""What a product and its variants must be."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from shop.base.texts import slug_of
from shop.models.catalog.products import STATUSES, Product

Errors = dict[str, list[str]]
_NAMESPACE = uuid5(NAMESPACE_URL, "https://shop.invalid/facets")


def product_errors(values: Mapping[str, Any], present: Product | None = None) -> Errors:
    """Of what is to be set, with what is there already."""
    errors: Errors = {}
    if "name" in values and not str(values["name"]).strip():
        errors["name"] = ["must be given"]
    if values.get("status", "draft") not in STATUSES:
        errors["status"] = [f"must be one of {', '.join(STATUSES)}"]
    if "slug" in values and present and not values["slug"]:
        errors["slug"] = ["must be given"]
    elif values.get("slug") and slug_of(values["slug"]) != values["slug"]:
        errors["slug"] = ["may have small letters, digits and single hyphens between them"]
    starts, ends = _moment("available_on", values, present), _moment("discontinue_on", values, present)
    if starts and ends and ends <= starts:
        errors["discontinue_on"] = ["must be later than available_on"]
    return errors


def size_errors(values: Mapping[str, Any]) -> Errors:
    """Of a variant's weight and sizes."""
    given = {name: values.get(name) for name in ("weight", "height", "width", "depth")}
    return {
        name: ["must be from 0 to 999999999"]
        for name, value in given.items()
        if value is not None and not 0 <= value < 10**9
    }


def _moment(name: str, values: Mapping[str, Any], present: Product | None) -> Any:
    return values[name] if name in values else getattr(present, name, None)


def free_slug(wanted: str, taken: Collection[str]) -> str:
    """The slug itself, or the first of `slug-2`, `slug-3` … that nobody has."""
    number, slug = 2, wanted
    while slug in taken:
        slug, number = f"{wanted}-{number}", number + 1
    return slug


def option_errors(
    chosen: Sequence[tuple[UUID, UUID]], wanted: Collection[UUID], others: Collection[frozenset[UUID]]
) -> Errors:
    """Of a variant's option values, as pairs of type and value: at most one of each type, all of them there, and no
    other variant of the product with the same.
    """
    found = {value for _, value in chosen}
    if len(found) != len(set(wanted)):
        return {"option_value_ids": ["name an option value that is not there"]}
    if len({kind for kind, _ in chosen}) != len(chosen):
        return {"option_value_ids": ["have two values of one option type"]}
    if found and frozenset(found) in others:
        return {"option_value_ids": ["are those of another variant of this product"]}
    return {}


def facet_id(property_id: UUID, filter_param: str) -> UUID:
    """One id for a property's value, whichever products have it."""
    return uuid5(_NAMESPACE, f"{property_id}/{filter_param}")


def property_fields(property_id: UUID, value: str) -> dict[str, Any]:
    """What follows from a property's value."""
    param = filter_param(value)
    return {"value": value, "filter_param": param, "facet_id": facet_id(property_id, param)}


def filter_param(value: str) -> str:
    """A property's value as it stands in an address; of such a one, itself."""
    return slug_of(value) or value.strip().lower()
