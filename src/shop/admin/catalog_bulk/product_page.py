"""The page of a product: its details, its variants with prices, stock and sizes, and new images, saved together."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from shop.actions.catalog_admin.products import CONFLICT, DETAILS, fingerprint_details
from shop.actions.catalog_bulk.product_form import change_full_product
from shop.actions.context import Context
from shop.admin.catalog.products import LABELS, MAX_TAGS, NOTICES, PATH, STATUSES
from shop.admin.catalog_bulk.grid import MAX_CELLS, read_edits
from shop.admin.catalog_bulk.grid_rows import MAX_VARIANTS, GridColumn, GridState, build_rows, list_columns
from shop.admin.catalog_bulk.product_form import add_images, read_id
from shop.admin.fields import Fields, id_of, moment_text
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid, NotFound
from shop.models.catalog.products import Product
from shop.models.catalog_bulk.cells import CellEdit, CellProblem, ProductCells
from shop.queries import dashboard
from shop.queries.catalog import images as image_queries
from shop.queries.catalog_bulk import cells as queries
from shop.queries.dashboard import AuditRow
from shop.rules.catalog_bulk.cells import SIZES, VARIANT_COLUMNS, check_edit
from shop.rules.form_values import split_words
from shop.web.input.request import Request
from shop.web.reply import Reply

MAX_EVENTS = 20
_HISTORY = {**LABELS, "option_type_ids": "Options", "taxon_ids": "Categories"}
_MOMENTS = ("available_on", "make_active_at", "discontinue_on")


class ProductState(msgspec.Struct, frozen=True):
    """The current values of a product, and the columns that the operator may see and change."""

    product: Product
    cells: ProductCells
    columns: Mapping[str, GridColumn]

    @property
    def variant_columns(self) -> dict[str, GridColumn]:
        return {key: column for key, column in self.columns.items() if column.column.name in VARIANT_COLUMNS}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    current = await _load(request, ctx, page_context)
    notice, texts = notice_of(request, NOTICES), _texts(current.product, page_context.shop.zone)
    return await _form(ctx, page_context, current, texts, GridState(), notice=notice)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    current, fields = await _load(request, ctx, page_context), Fields(request)
    product_id, columns = current.product.id, current.variant_columns
    edits = [edit for edit in read_edits(fields, page_context) if edit.column in columns]
    try:
        values = _read(fields, page_context.shop.zone, current.product)
        fields.check()
        expected = fields.texts.get("seen_details", "")
        await change_full_product(ctx, product_id, values, edits, expected_fingerprint=expected)
    except (Invalid, Conflict) as error:
        return await _refuse(ctx, page_context, await _load(request, ctx, page_context), fields, edits, error)
    ids_by_key = {str(variant_id): variant_id for variant_id in current.cells.variants}
    messages = await add_images(request, ctx, product_id, ids_by_key)
    return redirect(f"{PATH}/{product_id}/images?done=refused" if messages else f"{PATH}/{product_id}?done=saved")


async def _load(request: Request, ctx: Context, page_context: PageContext) -> ProductState:
    product_id = id_of(request, "product_id")
    cells = await queries.load_cells(ctx.db, [product_id], page_context.shop.currencies[0])
    if product_id not in cells.products:
        raise NotFound()
    return ProductState(cells.products[product_id], cells, await list_columns(ctx, page_context))


async def _refuse(
    ctx: Context,
    page_context: PageContext,
    current: ProductState,
    fields: Fields,
    edits: Sequence[CellEdit],
    error: Invalid | Conflict,
) -> Reply:
    """Shows the form again, with all errors and all values that someone else changed meanwhile.

    The form then carries the current values, so that saving once more replaces them.
    """
    texts = {name: fields.texts.get(name, "") for name in DETAILS}
    problems = [check for edit in edits if isinstance(check := check_edit(current.cells, edit), CellProblem)]
    labels = {edit.cell_id: _label_cell(current, edit) for edit in edits}
    errors: dict[str, Sequence[str]] = {}
    errors |= {problem.edit.cell_id: [problem.message] for problem in problems if problem.current is None}
    errors |= error.errors if isinstance(error, Invalid) else {}
    is_stale = fields.texts.get("seen_details", "") != fingerprint_details(current.product)
    current_values = _list_differences(current, texts, page_context.shop.zone) if is_stale else {}
    current_values |= {labels[each.edit.cell_id]: each.current for each in problems if each.current is not None}
    messages = {(each.edit.owner_id, each.edit.column): each.message for each in problems}
    messages |= {(edit.owner_id, edit.column): errors[edit.cell_id][0] for edit in edits if edit.cell_id in errors}
    state = GridState({(edit.owner_id, edit.column): edit.after for edit in edits}, messages)
    is_conflict = isinstance(error, Conflict) or bool(current_values)
    more = {"conflict": CONFLICT if is_conflict else None, "current_values": current_values, "cell_labels": labels}
    status = 409 if is_conflict else 422
    return await _form(ctx, page_context, current, texts, state, status, errors=errors, **more)


def _list_differences(current: ProductState, texts: Mapping[str, str], zone: tzinfo) -> dict[str, str | None]:
    """Returns the current details that differ from the entered ones, by label."""
    details, columns = _texts(current.product, zone), current.columns
    names = {**columns["tax_category"].options, **columns["shipping_category"].options}
    return {
        LABELS[name]: names.get(details[name], details[name]) if name.endswith("_id") else details[name]
        for name in DETAILS
        if details[name] != texts[name].replace("\r\n", "\n")
    }


def _label_cell(current: ProductState, edit: CellEdit) -> str:
    variant = current.cells.variants.get(edit.owner_id)
    label = current.columns[edit.column].label
    if variant is None:
        return f"{label} of a variant that you changed"
    return f"{label} of {variant.options_text}" if variant.options_text else label


async def _form(
    ctx: Context,
    page_context: PageContext,
    current: ProductState,
    texts: Mapping[str, str],
    state: GridState,
    status: int = 200,
    **more: Any,
) -> Reply:
    product, variant_columns = current.product, list(current.variant_columns.values())
    most_rows = min(MAX_VARIANTS, max(MAX_CELLS // len(variant_columns), 1))
    return page(
        "catalog/products/product.html",
        page_context,
        status,
        **{"conflict": None, "current_values": {}, "cell_labels": {}, **more},
        product=product,
        values={**texts, "seen_details": fingerprint_details(product)},
        statuses=STATUSES,
        labels=LABELS,
        events=[_describe(each, current) for each in await dashboard.list_events(ctx.db, product.id, most=MAX_EVENTS)],
        images=await image_queries.list_images(ctx.db, product.id),
        tables=[
            (title, columns, build_rows(current.cells, [product.id], columns, state, most_rows))
            for title, columns in _divide_columns(variant_columns).items()
        ],
        columns=current.columns,
    )


def _describe(event: AuditRow, current: ProductState) -> AuditRow:
    """Returns an event with what it changed under the labels of the form; a new product changed nothing."""
    changes: dict[str, Any] = {}
    for name, values in event.changes.items() if event.action != "product_created" else ():
        if values is None or (values[0] or None) != (values[1] or None):
            column = current.columns.get(name.removesuffix("_id"))
            names = column.options if column and values else {}
            changes[_HISTORY.get(name, name)] = values and [names.get(str(value or ""), value) for value in values]
    return msgspec.structs.replace(event, changes=changes)


def _divide_columns(columns: Sequence[GridColumn]) -> dict[str, list[GridColumn]]:
    """Returns the columns of each table; several stock locations have one of their own, so that all fit on a laptop."""
    tables: dict[str, list[GridColumn]] = {}
    has_locations = len([column for column in columns if column.column.name == "stock"]) > 1
    for column in columns:
        name = column.column.name
        is_stock = has_locations and name == "stock"
        title = "Weight and dimensions" if name in SIZES else "Stock" if is_stock else "Variants"
        tables.setdefault(title, []).append(column)
    return tables


def _texts(product: Product, zone: tzinfo) -> dict[str, str]:
    """Returns the details as form texts."""
    texts = {name: str(getattr(product, name) or "") for name in DETAILS}
    moments = {name: moment_text(getattr(product, name), zone) for name in _MOMENTS}
    return texts | moments | {"tags": ", ".join(product.tags)}


def _read(fields: Fields, zone: tzinfo, product: Product) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": fields.line("name", required=True),
        "slug": fields.line("slug", most=100) or product.slug,
        "description": fields.prose("description") or None,
        "status": fields.choice("status", STATUSES),
        "tags": split_words(fields.prose("tags", most=2000)),
        "meta_title": fields.line("meta_title") or None,
        "meta_description": fields.line("meta_description", most=500) or None,
        "meta_keywords": fields.line("meta_keywords", most=500) or None,
        "tax_category_id": read_id(fields, "tax_category_id"),
        "shipping_category_id": read_id(fields, "shipping_category_id"),
    }
    if len(values["tags"]) > MAX_TAGS:
        fields.refuse("tags", f"must be at most {MAX_TAGS}")
    for name in _MOMENTS:
        values[name] = fields.moment(name, zone, getattr(product, name))
    starts, ends = values["available_on"], values["discontinue_on"]
    if starts and ends and ends <= starts:
        fields.refuse("discontinue_on", "must be later than Available from")
    return values
