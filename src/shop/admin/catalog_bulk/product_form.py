"""The form of a new product: details, options, variants with prices and stock, and images on one page."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, cast
from uuid import UUID

import msgspec

from shop.actions.catalog_admin import images
from shop.actions.catalog_admin.products import get_product
from shop.actions.catalog_bulk import product_form
from shop.actions.catalog_bulk.product_form import NewVariant
from shop.actions.context import Context
from shop.admin.catalog.products import LABELS, MAX_TAGS, STATUSES
from shop.admin.catalog_bulk.grid import MAX_TEXT_LENGTH
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Invalid
from shop.models.catalog.inputs import ProductInput, VariantInput
from shop.models.catalog.stock import StockLocation
from shop.queries.catalog_bulk import cells as queries
from shop.rules.catalog_bulk.product_form import MAX_OPTIONS, Combination, OptionChoice, list_combinations, read_options
from shop.rules.form_values import split_words
from shop.rules.setup.units import SIZES, label_sizes
from shop.web.input.request import Request
from shop.web.reply import Reply

MOST_PARAMS = 5000
_TEXTS = (
    *("name", "slug", "description", "status", "available_on", "discontinue_on", "tax_category", "shipping_category"),
    *("sku", "cost", "tags", "meta_title", "meta_description", "meta_keywords", *SIZES),
)


class FormColumn(msgspec.Struct, frozen=True):
    """A column of the table of variants: its key as a cell, its label and its keyboard on a phone."""

    key: str
    label: str
    inputmode: str = ""


class FormState(msgspec.Struct, frozen=True):
    """What the form shows: the entered texts, and the rows of variants that its options create."""

    texts: Mapping[str, str]
    options: Sequence[tuple[str, str]]
    combinations: Sequence[Combination]
    cells: Mapping[str, Mapping[str, str]]
    """The entered texts of the product itself under an empty key, and of variants by the key of their combination."""


async def new(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _form(ctx, page_context, FormState({"status": "draft"}, [], [], {}))


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    columns = list_columns(page_context, await queries.list_locations(ctx.db))
    options, state = _read_state(fields, columns, has_cost=page_context.can("costs:read"))
    step = fields.texts.get("step", "create")
    if step == "variants" and not fields.errors:
        return await _form(ctx, page_context, state)
    # A table that belongs to other options than the form has would create variants that the operator never saw.
    if state.combinations and fields.texts.get("shown_options", "") != _row_keys(state) and not fields.errors:
        fields.refuse("options", "have changed; check the variants before you create the product")
    values, sizes = _read_values(fields, page_context.shop.zone)
    try:
        fields.check()
        variants = _list_variants(state)
        product_id, ids_by_key = await product_form.create_full_product(ctx, values, options, variants, sizes)
    except Invalid as error:
        return await _form(ctx, page_context, state, 422, errors=error.errors)
    messages = await add_images(request, ctx, product_id, ids_by_key)
    if messages:
        return redirect(f"/admin/products/{product_id}/images?done=refused")
    return redirect(f"/admin/products/{product_id}?done=made")


async def duplicate(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    copy_id, has_all_images = await product_form.duplicate_product(ctx, product.id)
    return redirect(f"/admin/products/{copy_id}?done={'copied' if has_all_images else 'copied_partly'}")


def list_columns(page_context: PageContext, locations: Sequence[StockLocation]) -> list[FormColumn]:
    return [
        FormColumn("sku", "SKU"),
        *(FormColumn(f"price-{code}", f"Price ({code})", "decimal") for code in page_context.shop.currencies),
        *(
            FormColumn(f"stock-{location.id}", f"Stock: {location.name}", "numeric")
            for location in locations
            if page_context.can("stock:write")
        ),
    ]


def _read_state(
    fields: Fields, columns: Sequence[FormColumn], *, has_cost: bool
) -> tuple[list[OptionChoice], FormState]:
    texts = [
        (fields.texts.get(f"option{number}_name", ""), fields.texts.get(f"option{number}_values", "")[:2000])
        for number in range(1, MAX_OPTIONS + 1)
    ]
    options: list[OptionChoice] = []
    try:
        options = read_options(texts)
    except ValueError as error:
        fields.refuse("options", str(error))
    combinations = list_combinations(options)
    own_cells = {
        column.key: fields.texts.get(column.key, "").strip()[:MAX_TEXT_LENGTH]
        for column in columns
        if column.key in fields.texts
    }
    own_cells["cost"] = fields.texts.get("cost", "").strip()[:MAX_TEXT_LENGTH] if has_cost else ""
    cells = {"": own_cells, **{each.key: _read_cells(fields, each, columns, own_cells) for each in combinations}}
    return options, FormState(fields.texts, texts, combinations, cells)


def _read_cells(
    fields: Fields, combination: Combination, columns: Sequence[FormColumn], own_cells: Mapping[str, str]
) -> dict[str, str]:
    """Returns the cells of a variant: as entered or, in a new row, those of the product itself."""
    row = fields.group("variant").get(combination.key)
    if isinstance(row, dict):
        return {column.key: str(row.get(column.key, "")).strip()[:MAX_TEXT_LENGTH] for column in columns}
    suggested = {column.key: own_cells.get(column.key, "") for column in columns}
    return {**suggested, "sku": combination.sku(own_cells.get("sku", ""))}


def _list_variants(state: FormState) -> list[NewVariant]:
    own_cells = dict(state.cells[""])
    cost = own_cells["cost"]
    if not state.combinations:
        return [NewVariant(None, own_cells)]
    prices = {key: text for key, text in own_cells.items() if key.startswith("price-")}
    return [
        NewVariant(None, prices),
        *(NewVariant(each, {**state.cells[each.key], "cost": cost}) for each in state.combinations),
    ]


def _row_keys(state: FormState) -> str:
    return ",".join(each.key for each in state.combinations)


def _read_values(fields: Fields, zone: tzinfo) -> tuple[ProductInput, VariantInput]:
    values: dict[str, Any] = {
        "name": fields.line("name", required=True),
        "description": fields.prose("description") or None,
        "status": fields.choice("status", STATUSES),
        "available_on": fields.moment("available_on", zone),
        "discontinue_on": fields.moment("discontinue_on", zone),
        "tax_category_id": read_id(fields, "tax_category"),
        "shipping_category_id": read_id(fields, "shipping_category"),
        "tags": split_words(fields.prose("tags", most=2000)),
        "meta_title": fields.line("meta_title") or None,
        "meta_description": fields.line("meta_description", most=500) or None,
        "meta_keywords": fields.line("meta_keywords", most=500) or None,
    }
    if len(values["tags"]) > MAX_TAGS:
        fields.refuse("tags", f"must be at most {MAX_TAGS}")
    if slug := fields.line("slug", most=100):
        values["slug"] = slug
    sizes = {name: number for name in SIZES if (number := fields.number(name)) is not None}
    return cast(ProductInput, {**values, **sizes}), cast(VariantInput, sizes)


def read_id(fields: Fields, name: str) -> UUID | None:
    if fields.texts.get(name) and fields.id(name) is None:
        fields.refuse(name, "is not a valid choice")
    return fields.id(name)


async def add_images(request: Request, ctx: Context, product_id: UUID, ids_by_key: Mapping[str, UUID]) -> list[str]:
    messages = await images.add_images(ctx, product_id, [data for data in request.files("files") if data], alt=None)
    for key, variant_id in ids_by_key.items():
        files = [data for data in request.files(f"variant_files[{key}]") if data]
        messages += await images.add_images(ctx, product_id, files, alt=None, variant_id=variant_id)
    return messages


async def _form(ctx: Context, page_context: PageContext, state: FormState, status: int = 200, **more: Any) -> Reply:
    tax_names, shipping_names = await queries.list_categories(ctx.db)
    columns = list_columns(page_context, await queries.list_locations(ctx.db))
    size_labels = label_sizes(page_context.shop.weight_unit, page_context.shop.dimension_unit)
    labels = {**LABELS, **size_labels, "options": "Options", "cost": f"Cost ({page_context.shop.currencies[0]})"}
    labels |= {"tax_category": "Tax category", "shipping_category": "Shipping category"}
    labels |= {column.key: column.label for column in columns}
    for each in state.combinations:
        labels |= {f"{column.key}-{each.key}": f"{column.label} of {each.label}" for column in columns}
    return page(
        "catalog/bulk/product_new.html",
        page_context,
        status,
        **more,
        state=state,
        values={name: state.texts.get(name, "") for name in _TEXTS},
        own_cells=state.cells.get("", {}),
        option_texts=[*state.options, *[("", "")] * MAX_OPTIONS][:MAX_OPTIONS],
        signature=_row_keys(state),
        columns=columns,
        sizes=size_labels,
        currency=page_context.shop.currencies[0],
        statuses={name: text for name, text in STATUSES.items() if name != "archived"},
        tax_categories={"": "Default", **tax_names},
        shipping_categories={"": "Default", **shipping_names},
        labels=labels,
    )
