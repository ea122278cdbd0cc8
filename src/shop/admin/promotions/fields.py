"""Form fields of a promotion rule or action, derived from the settings of its kind: a new kind needs no own form.

setting                  field
products                 checkboxes of the selected products and of search results
taxons, groups           one checkbox each
amounts                  one amount for each currency of the shop
percent, count           text
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.promotions.pages import REFERENCE_FORMS, PartRow
from shop.admin.fields import Fields
from shop.admin.promotions.summary import MISSING_NAME
from shop.base.ids import as_uuid
from shop.base.money import minor_units
from shop.models.setup.shop import Shop
from shop.queries.catalog_admin import taxons as taxon_pages
from shop.queries.promotions import pages as promotion_pages
from shop.rules.form_values import amount_text, prefix_query, read_amount
from shop.rules.promotions.settings import KINDS, MAX_IDS, part_errors

MAX_SEARCH_RESULTS = 25
_LABELS = {
    "products": "Products",
    "taxons": "Categories",
    "groups": "Customer groups",
    "amounts": "Amount",
    "percent": "Discount (%)",
}


class Option(msgspec.Struct, frozen=True):
    """A checkbox."""

    id: str
    label: str
    depth: int = 0


class Setting(msgspec.Struct, frozen=True):
    """One field: its value and its options. Ids and amounts have several values."""

    name: str
    form: str
    label: str
    text: str = ""
    amounts: Mapping[str, str] = {}
    """By currency: those of the shop and those already stored."""
    chosen: frozenset[str] = frozenset()
    options: Sequence[Option] = ()


def label_of(name: str, form: str) -> str:
    return _LABELS.get(form) or name.replace("_", " ").capitalize()


def labels_of(what: str, kind: str) -> dict[str, str]:
    """Returns the field labels for error messages."""
    return {name: label_of(name, form) for name, form in KINDS[what][kind].settings.items()}


def get_stored_texts(what: str, part: PartRow) -> dict[str, Any]:
    """Returns the stored settings of a part as form texts."""
    texts: dict[str, Any] = {}
    for name, form in KINDS[what][part.type].settings.items():
        value = part.preferences.get(name)
        if form in REFERENCE_FORMS:
            texts[name] = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
        elif form == "amounts":
            texts[name] = {key: _amount(text, key) for key, text in value.items()} if isinstance(value, dict) else {}
        else:
            texts[name] = "" if value is None else str(value)
    return texts


def _amount(text: Any, currency: str) -> str:
    try:
        return amount_text(minor_units(read_amount(str(text), currency), currency), currency)
    except ValueError:
        return str(text)


def get_submitted_texts(what: str, kind: str, fields: Fields) -> dict[str, Any]:
    """Returns the submitted settings as form texts."""
    texts: dict[str, Any] = {}
    for name, form in KINDS[what][kind].settings.items():
        if form in REFERENCE_FORMS:
            texts[name] = [str(each) for each in fields.ids(name)]
        elif form == "amounts":
            texts[name] = {key: text for key, text in fields.group(name).items() if isinstance(text, str)}
        else:
            texts[name] = fields.texts.get(name, "")
    return texts


def read_settings(what: str, kind: str, fields: Fields) -> dict[str, Any]:
    """Parses the settings and records each error at its field."""
    values: dict[str, Any] = {}
    for name, form in KINDS[what][kind].settings.items():
        if form in REFERENCE_FORMS:
            values[name] = sorted(str(each) for each in fields.ids(name))
            if not values[name]:
                fields.refuse(name, "must include at least one")
            if len(values[name]) > MAX_IDS:
                fields.refuse(name, f"must be at most {MAX_IDS}")
        elif form == "amounts":
            values[name] = _read_amounts(name, fields)
        else:
            values[name] = fields.line(name, most=30, required=True)
    for field, sentences in part_errors(what, kind, values).items():
        name = field.removeprefix("preferences.")
        if not any(each == name or each.startswith(f"{name}-") for each in fields.errors):
            fields.errors[name] = sentences
    return values


def _read_amounts(name: str, fields: Fields) -> dict[str, str]:
    amounts: dict[str, str] = {}
    for currency, text in fields.group(name).items():
        if isinstance(text, str) and text.strip():
            try:
                amount = read_amount(text.strip(), currency)
            except ValueError as error:
                fields.refuse(f"{name}-{currency}", str(error))
                continue
            if not amount:
                fields.refuse(f"{name}-{currency}", "must be greater than 0")
            amounts[currency] = str(amount)
    if not amounts and not any(each.startswith(f"{name}-") for each in fields.errors):
        fields.refuse(name, "is required in at least one currency")
    return amounts


async def build_settings(
    ctx: Context, shop: Shop, what: str, kind: str, texts: Mapping[str, Any], search: str = ""
) -> list[Setting]:
    """Returns the fields of the form; search results are offered next to the selected options."""
    return [
        await _setting(ctx, shop, Setting(name, form, label_of(name, form)), texts.get(name), search)
        for name, form in KINDS[what][kind].settings.items()
    ]


async def _setting(ctx: Context, shop: Shop, empty: Setting, value: Any, search: str) -> Setting:
    if empty.form in REFERENCE_FORMS:
        selected_ids = frozenset(value or ())
        options = await _options(ctx, empty.form, selected_ids, search)
        return msgspec.structs.replace(empty, chosen=selected_ids, options=options)
    if empty.form == "amounts":
        texts = value or {}
        amounts = {currency: texts.get(currency, "") for currency in dict.fromkeys([*shop.currencies, *texts])}
        return msgspec.structs.replace(empty, amounts=amounts)
    return msgspec.structs.replace(empty, text=value or "")


async def _options(ctx: Context, form: str, selected_ids: frozenset[str], search: str) -> list[Option]:
    options = await _OPTION_LOADERS[form](ctx, search)
    option_ids = {option.id for option in options}
    missing_ids = [each for each in (as_uuid(text) for text in selected_ids - option_ids) if each]
    names = await promotion_pages.find_names(ctx.db, missing_ids)
    # Stored ids stay visible until their checkbox is cleared, even if the record is gone.
    others = [Option(str(each), names.get(each, f"{each}: {MISSING_NAME}")) for each in missing_ids]
    return [*sorted(others, key=lambda option: option.label), *options]


async def _products(ctx: Context, search: str) -> list[Option]:
    query = prefix_query(search)
    rows = (
        await promotion_pages.search_products_by_name(ctx.db, query, search, most=MAX_SEARCH_RESULTS) if query else []
    )
    return [Option(str(product_id), name) for product_id, name in rows]


async def _taxons(ctx: Context, _search: str) -> list[Option]:
    return [Option(str(taxon.id), taxon.name, min(taxon.depth, 6)) for taxon in await taxon_pages.list_taxons(ctx.db)]


async def _groups(ctx: Context, _search: str) -> list[Option]:
    return [Option(str(group_id), name) for group_id, name in await promotion_pages.list_groups(ctx.db)]


_OPTION_LOADERS = {"products": _products, "taxons": _taxons, "groups": _groups}
