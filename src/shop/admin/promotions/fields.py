"""The fields of a condition or a benefit, drawn from what its kind wants settled: a new kind needs no form of its own.

settled as               asked for by
products                 boxes of those that are chosen, and of those that a search finds
taxons, groups           a box for each there is
amounts                  an amount in each currency of the shop
percent, count           a text
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.promotions.pages import NAMED, PartRow
from shop.admin.fields import Fields
from shop.admin.promotions.summary import GONE
from shop.base.ids import as_uuid
from shop.base.money import minor_units
from shop.models.setup.shop import Shop
from shop.queries.catalog_pages import taxons as taxon_pages
from shop.queries.promotions import pages as promotion_pages
from shop.rules.form_values import amount_text, prefix_query, read_amount
from shop.rules.promotions.settings import KINDS, MOST_IDS, part_errors

MOST_FOUND = 25
_LABELS = {
    "products": "Products",
    "taxons": "Categories",
    "groups": "Customer groups",
    "amounts": "Amount",
    "percent": "Percent",
}


class Option(msgspec.Struct, frozen=True):
    """What can be ticked."""

    id: str
    label: str
    depth: int = 0


class Setting(msgspec.Struct, frozen=True):
    """One field: what stands in it, and what it offers. Ids and amounts have several values."""

    name: str
    form: str
    label: str
    text: str = ""
    amounts: Mapping[str, str] = {}
    """By currency; those of the shop, and those that are kept."""
    chosen: frozenset[str] = frozenset()
    options: Sequence[Option] = ()


def label_of(name: str, form: str) -> str:
    return _LABELS.get(form) or name.replace("_", " ").capitalize()


def labels_of(what: str, kind: str) -> dict[str, str]:
    """For whoever is told what is wrong."""
    return {name: label_of(name, form) for name, form in KINDS[what][kind].settings.items()}


def kept_texts(what: str, part: PartRow) -> dict[str, Any]:
    """What is kept of a part, as it is typed."""
    found: dict[str, Any] = {}
    for name, form in KINDS[what][part.type].settings.items():
        value = part.preferences.get(name)
        if form in NAMED:
            found[name] = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
        elif form == "amounts":
            found[name] = {key: _amount(text, key) for key, text in value.items()} if isinstance(value, dict) else {}
        else:
            found[name] = "" if value is None else str(value)
    return found


def _amount(text: Any, currency: str) -> str:
    try:
        return amount_text(minor_units(read_amount(str(text), currency), currency), currency)
    except ValueError:
        return str(text)


def typed_texts(what: str, kind: str, fields: Fields) -> dict[str, Any]:
    """The same of what was typed just now."""
    found: dict[str, Any] = {}
    for name, form in KINDS[what][kind].settings.items():
        if form in NAMED:
            found[name] = [str(each) for each in fields.ids(name)]
        elif form == "amounts":
            found[name] = {key: text for key, text in fields.group(name).items() if isinstance(text, str)}
        else:
            found[name] = fields.typed.get(name, "")
    return found


def read_settings(what: str, kind: str, fields: Fields) -> dict[str, Any]:
    """What is wrong is told of the field it stands in."""
    values: dict[str, Any] = {}
    for name, form in KINDS[what][kind].settings.items():
        if form in NAMED:
            values[name] = sorted(str(each) for each in fields.ids(name))
            if not values[name]:
                fields.refuse(name, "must be chosen, one at least")
            if len(values[name]) > MOST_IDS:
                fields.refuse(name, f"must be at most {MOST_IDS}")
        elif form == "amounts":
            values[name] = _read_amounts(name, fields)
        else:
            values[name] = fields.line(name, most=30, required=True)
    for field, told in part_errors(what, kind, values).items():
        name = field.removeprefix("preferences.")
        if not any(each == name or each.startswith(f"{name}-") for each in fields.errors):
            fields.errors[name] = told
    return values


def _read_amounts(name: str, fields: Fields) -> dict[str, str]:
    found: dict[str, str] = {}
    for currency, text in fields.group(name).items():
        if isinstance(text, str) and text.strip():
            try:
                amount = read_amount(text.strip(), currency)
            except ValueError as error:
                fields.refuse(f"{name}-{currency}", str(error))
                continue
            if not amount:
                fields.refuse(f"{name}-{currency}", "must be more than nothing")
            found[currency] = str(amount)
    if not found and not any(each.startswith(f"{name}-") for each in fields.errors):
        fields.refuse(name, "must be given in one currency at least")
    return found


async def settings_of(
    ctx: Context, shop: Shop, what: str, kind: str, texts: Mapping[str, Any], search: str = ""
) -> list[Setting]:
    """The form as it is shown; what a search finds is offered beside what is chosen."""
    return [
        await _setting(ctx, shop, Setting(name, form, label_of(name, form)), texts.get(name), search)
        for name, form in KINDS[what][kind].settings.items()
    ]


async def _setting(ctx: Context, shop: Shop, empty: Setting, value: Any, search: str) -> Setting:
    if empty.form in NAMED:
        chosen = frozenset(value or ())
        options = await _options(ctx, empty.form, chosen, search)
        return msgspec.structs.replace(empty, chosen=chosen, options=options)
    if empty.form == "amounts":
        given = value or {}
        amounts = {currency: given.get(currency, "") for currency in dict.fromkeys([*shop.currencies, *given])}
        return msgspec.structs.replace(empty, amounts=amounts)
    return msgspec.structs.replace(empty, text=value or "")


async def _options(ctx: Context, form: str, chosen: frozenset[str], search: str) -> list[Option]:
    offered = await _OFFERED[form](ctx, search)
    known = {option.id for option in offered}
    lacking = [each for each in (as_uuid(text) for text in chosen - known) if each]
    names = await promotion_pages.find_names(ctx.db, lacking)
    # What is kept stays to be seen, and goes when its box is emptied.
    others = [Option(str(each), names.get(each, f"{each}: {GONE}")) for each in lacking]
    return [*sorted(others, key=lambda option: option.label), *offered]


async def _products(ctx: Context, search: str) -> list[Option]:
    query = prefix_query(search)
    found = await promotion_pages.list_products_found(ctx.db, query, search, most=MOST_FOUND) if query else []
    return [Option(str(product_id), name) for product_id, name in found]


async def _taxons(ctx: Context, _search: str) -> list[Option]:
    return [Option(str(taxon.id), taxon.name, min(taxon.depth, 6)) for taxon in await taxon_pages.list_taxons(ctx.db)]


async def _groups(ctx: Context, _search: str) -> list[Option]:
    return [Option(str(group_id), name) for group_id, name in await promotion_pages.list_groups(ctx.db)]


_OFFERED = {"products": _products, "taxons": _taxons, "groups": _groups}
