"""Bulk operations on the ticked products or on a filtered list: choose, preview and apply."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog_bulk import batches
from shop.actions.catalog_bulk.batches import BatchSelection
from shop.actions.context import Context
from shop.admin.catalog.products import FILTERS, STATUSES, read_filter
from shop.admin.catalog_bulk.grid_rows import describe_owner, list_columns, value_text
from shop.admin.fields import Fields
from shop.admin.listing import text_param
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, new_id
from shop.base.money import minor_units, money_text
from shop.queries.catalog_admin.taxons import list_taxons
from shop.queries.catalog_bulk import cells as queries
from shop.rules.catalog_bulk.cells import parse_column
from shop.rules.catalog_bulk.operations import ROUNDINGS, BulkOperation, check_number, describe_operation
from shop.rules.setup.names import label_currency
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products/bulk"
MAX_TICKED = 100
MAX_ROWS = 50
"""The rows of a preview."""
KINDS = {
    "price": "Raise or lower prices",
    "compare": "Set the compare-at price to the price",
    "clear_compare": "Remove the compare-at price",
    "status": "Set the status",
    "tax_category": "Set the tax category",
    "shipping_category": "Set the shipping category",
    "add_taxon": "Add to a category",
    "remove_taxon": "Remove from a category",
}
DIRECTIONS = {"raise": "Raise", "lower": "Lower"}
UNITS = {"percent": "percent", "amount": "an amount"}
LABELS = {
    "ids": "Products",
    "kind": "Change",
    "number": "Amount",
    "currency": "Currency",
    "rounding": "Rounding",
    "status": "Status",
    "tax_category": "Tax category",
    "shipping_category": "Shipping category",
    "taxon": "Category",
}
_DEFAULTS = {"kind": "price", "direction": "raise", "unit": "percent", "rounding": "none", "new_status": "active"}
_FIELDS = (
    *("kind", "direction", "number", "unit", "currency", "rounding"),
    *("new_status", "taxon", "tax_category", "shipping_category"),
)


class BulkChoices(msgspec.Struct, frozen=True):
    """The texts of the lists of choices, by value."""

    currency: dict[str, str]
    tax_category: dict[str, str]
    shipping_category: dict[str, str]
    taxon: dict[str, str]


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in FILTERS}
    ids = request.query.get("ids", [])
    is_ticked = text_param(request, "scope") != "all"
    values = {**_DEFAULTS, "currency": page_context.shop.currencies[0]}
    texts = [each for each in ids if isinstance(each, str)] if is_ticked and isinstance(ids, list) else []
    return await _form(ctx, page_context, _Scope(is_ticked, texts, params), values)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    params = {name: fields.texts.get(name, "")[:254] for name in FILTERS}
    scope = _Scope(fields.texts.get("scope", "") != "all", fields.lines("ids"), params)
    choices = await _load_choices(ctx, page_context)
    operation = _read_operation(fields, choices)
    if not await batches.count_selection(ctx, scope.selection) or (scope.is_ticked and not scope.selection.product_ids):
        fields.refuse("ids", "Tick at least one product in the list.")
    try:
        fields.check()
    except Invalid as error:
        return await _form(ctx, page_context, scope, fields.texts, 422, errors=error.errors)
    label = describe_operation(operation, {**choices.tax_category, **choices.shipping_category, **choices.taxon})
    if fields.texts.get("step") == "apply":
        batch_id = fields.form_id()
        await batches.start_batch(ctx, batch_id, scope.selection, operation, label)
        return redirect(f"/admin/products/batches/{batch_id}")
    return await _preview(ctx, page_context, scope, operation, label, fields)


async def _preview(
    ctx: Context, page_context: PageContext, scope: "_Scope", operation: BulkOperation, label: str, fields: Fields
) -> Reply:
    preview = await batches.preview_batch(ctx, scope.selection, operation)
    columns = await list_columns(ctx, page_context)

    def text(column: str, value: str) -> str:
        if column.startswith("taxon-"):
            return "in the category" if value else "not in the category"
        cell = parse_column(column)
        if value and cell and cell.name in {"price", "compare"}:
            amount = minor_units(Decimal(value), cell.argument)
            return money_text(cell.argument, page_context.shop.default_locale)(amount)
        return value_text(columns, column, value)

    def sku(owner_id: UUID) -> str:
        variant = preview.cells.variants.get(owner_id)
        return variant.sku if variant else ""

    return page(
        "catalog/bulk/bulk_preview.html",
        page_context,
        scope=scope,
        label=label,
        edits=preview.edits[:MAX_ROWS],
        describe=lambda owner_id: describe_owner(preview.cells, owner_id),
        sku=sku,
        text=text,
        has_more=len(preview.edits) > MAX_ROWS or preview.product_count > batches.PREVIEW_PRODUCTS,
        count=preview.product_count,
        new_id=new_id(),
        texts={name: text for name, text in fields.texts.items() if name in _FIELDS},
    )


class _Scope(msgspec.Struct, frozen=True):
    """The products that the form is about, as its hidden fields have them."""

    is_ticked: bool
    ids: list[str]
    params: dict[str, str]

    @property
    def selection(self) -> BatchSelection:
        if not self.is_ticked:
            return BatchSelection((), read_filter(self.params))
        ids = [product_id for each in self.ids[:MAX_TICKED] if (product_id := as_uuid(each))]
        return BatchSelection(ids)


def _read_operation(fields: Fields, choices: BulkChoices) -> BulkOperation:
    kind = fields.choice("kind", KINDS)
    if kind == "status":
        return BulkOperation(kind, fields.choice("new_status", STATUSES))
    if kind in {"tax_category", "shipping_category"}:
        return BulkOperation(kind, fields.choice(kind, getattr(choices, kind)))
    if kind in {"add_taxon", "remove_taxon"}:
        return BulkOperation(kind, fields.choice("taxon", choices.taxon))
    currency = fields.choice("currency", choices.currency)
    if kind != "price":
        return BulkOperation(kind, currency=currency)
    direction, unit = fields.choice("direction", DIRECTIONS), fields.choice("unit", UNITS)
    rounding = fields.choice("rounding", ROUNDINGS)
    is_percent = unit == "percent"
    number = fields.number("number") if is_percent or fields.errors else fields.amount("number", currency)
    if number is None:
        if "number" not in fields.errors:
            fields.refuse("number", "is required")
        return BulkOperation(kind, currency=currency)
    signed_number = number if direction == "raise" else -number
    operation = BulkOperation(kind, currency=currency, number=signed_number, is_percent=is_percent, rounding=rounding)
    if message := check_number(operation):
        fields.refuse("number", message)
    return operation


async def _load_choices(ctx: Context, page_context: PageContext) -> BulkChoices:
    tax_names, shipping_names = await queries.list_categories(ctx.db)
    taxons = {
        str(taxon.id): "\u2003" * max(taxon.depth - 1, 0) + taxon.name
        for taxon in await list_taxons(ctx.db)
        if taxon.parent_id
    }
    currencies = {code: label_currency(code) for code in page_context.shop.currencies}
    return BulkChoices(currencies, {"": "Default", **tax_names}, {"": "Default", **shipping_names}, taxons)


async def _form(
    ctx: Context, page_context: PageContext, scope: _Scope, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    has_products = bool(scope.selection.product_ids) or not scope.is_ticked
    return page(
        "catalog/bulk/bulk.html",
        page_context,
        status,
        **more,
        scope=scope,
        count=await batches.count_selection(ctx, scope.selection) if has_products else 0,
        values={name: values.get(name, _DEFAULTS.get(name, "")) for name in _FIELDS},
        choices=await _load_choices(ctx, page_context),
        kinds=KINDS,
        directions=DIRECTIONS,
        units=UNITS,
        roundings={name: text.capitalize() for name, text in ROUNDINGS.items()},
        statuses={name: name.capitalize() for name in STATUSES},
        labels=LABELS,
    )
