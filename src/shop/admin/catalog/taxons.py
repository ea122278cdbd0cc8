"""Pages for taxonomies and taxons."""

from collections.abc import Mapping, Sequence
from typing import Any

from shop.actions import records
from shop.actions.catalog.resources import TAXON, TAXONOMY
from shop.actions.catalog.taxons import LAST
from shop.actions.catalog_admin import taxons as taxon_actions
from shop.actions.catalog_admin.taxons import get_taxon
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.listing import ListHead
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import link_uses, list_website_uses
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.models.catalog.taxons import Taxon
from shop.models.catalog.taxons import taxons as taxon_table
from shop.queries.catalog.images import find_taxon_image
from shop.queries.catalog.taxons import list_tree
from shop.queries.catalog_admin import taxons as taxon_pages
from shop.queries.setup.uses import list_losses, list_promotion_uses
from shop.rules.catalog.taxons import is_within
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/taxons"
LABELS = {
    "name": "Name",
    "slug": "Slug",
    "description": "Description",
    "parent_id": "Parent category",
    "tree_name": "Category tree name",
    "taxon_name": "Category name",
    "files": "Image",
    "alt": "Image description",
    "new_alt": "New image description",
}
_NOTICES = {
    "tree": "Category tree created. Add categories to it next.",
    "added": "Category added.",
    "moved": "Category moved.",
    "saved": "Saved.",
    "removed": "Category removed. Its products stay in the shop.",
    "image-saved": "Image saved.",
    "image-removed": "Image deleted.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _trees(ctx, page_context, notice=notice_of(request, _NOTICES))


async def create_tree(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        name = fields.line("tree_name", most=100, required=True)
        fields.check()
        await records.create(ctx, TAXONOMY, {"name": name})
    except Invalid as error:
        return await _trees(ctx, page_context, 422, errors=_errors_for(error, "tree_name"), form_texts=fields.texts)
    return redirect(f"{PATH}?done=tree")


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        parent_id = fields.id("parent_id")
        parent = await get_taxon(ctx, parent_id) if parent_id else None
        name = fields.line("taxon_name", most=100, required=True)
        if parent is None:
            fields.refuse("taxon_name", "needs a category tree")
        fields.check()
        await records.create(ctx, TAXON, {"name": name, "parent_id": parent and parent.id})
    except Invalid as error:
        return await _trees(ctx, page_context, 422, errors=_errors_for(error, "taxon_name"), form_texts=fields.texts)
    return redirect(f"{PATH}?done=added")


async def show_one(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    taxon = await get_taxon(ctx, id_of(request, "taxon_id"))
    return await taxon_page(ctx, page_context, taxon, notice=notice_of(request, _NOTICES))


async def change_one(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    taxon, fields = await get_taxon(ctx, id_of(request, "taxon_id")), Fields(request)
    try:
        values: dict[str, Any] = {"name": fields.line("name", most=100, required=True)}
        if taxon.parent_id is None:
            fields.check()
            await records.update(ctx, TAXONOMY, taxon.taxonomy_id, values)
            return redirect(f"{PATH}?done=saved")
        values["slug"] = fields.line("slug", most=100) or taxon.slug
        values["description"] = fields.prose("description") or None
        values["parent_id"] = fields.id("parent_id") or taxon.parent_id
        if values["parent_id"] != taxon.parent_id:
            # A moved taxon becomes the last child of its new parent.
            values["position"] = LAST
        fields.check()
        await records.update(ctx, TAXON, taxon.id, values, fields.texts.get("seen_at"))
    except Invalid as error:
        more = {"errors": error.errors, "seen_at": fields.texts.get("seen_at", "")}
        return await taxon_page(ctx, page_context, taxon, _submitted_texts(fields), status=422, **more)
    except ChangedMeanwhile as conflict:
        taxon, texts = await get_taxon(ctx, taxon.id), _submitted_texts(fields)
        latest_texts = {"name": taxon.name, "slug": taxon.slug, "description": taxon.description or ""}
        parents = {str(each.id): each.name for each in await taxon_pages.list_taxons(ctx.db)}
        latest_texts["parent_id"] = parents.get(str(taxon.parent_id), "")
        shown_texts = {**texts, "parent_id": parents.get(texts["parent_id"], "")}
        more = {"conflict": conflict.sentence, "theirs": list_differences(LABELS, shown_texts, latest_texts)}
        return await taxon_page(ctx, page_context, taxon, texts, status=409, **more)
    return redirect(f"{PATH}?done=saved")


def _submitted_texts(fields: Fields) -> dict[str, str]:
    return {name: fields.texts.get(name, "") for name in ("name", "slug", "description", "parent_id")}


async def up(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    return await _shift(request, ctx, -1)


async def down(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    return await _shift(request, ctx, 1)


async def show_remove(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    taxon = await get_taxon(ctx, id_of(request, "taxon_id"))
    below = (taxon.rgt - taxon.lft) // 2
    others = f" The {below} {'category' if below == 1 else 'categories'} below it will be removed too." if below else ""
    tree = await list_tree(ctx.db, taxon.taxonomy_id)
    ids = [each.id for each in tree if taxon.lft <= each.lft and each.rgt <= taxon.rgt]
    uses = await list_losses(ctx.db, taxon_table, {"classifications", "menu_items"}, *ids)
    uses += await list_promotion_uses(ctx.db, "taxon_ids", *ids)
    uses += list_website_uses(page_context.shop, *ids)
    return confirmation_page(
        page_context,
        question=f"Remove {taxon.name}?",
        sentence=f"Its products will stay in the shop.{others} This cannot be undone.",
        uses=link_uses(uses),
        action=f"{PATH}/{taxon.id}/remove",
        button="Remove category" if taxon.parent_id else "Remove category tree",
        back=(f"{PATH}/{taxon.id}", taxon.name),
    )


async def remove(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    taxon = await get_taxon(ctx, id_of(request, "taxon_id"))
    if taxon.parent_id is None:
        await records.delete(ctx, TAXONOMY, taxon.taxonomy_id)
    else:
        await records.delete(ctx, TAXON, taxon.id)
    return redirect(f"{PATH}?done=removed")


async def _shift(request: Request, ctx: Context, steps: int) -> Reply:
    taxon_id = id_of(request, "taxon_id")
    await taxon_actions.shift(ctx, taxon_id, steps)
    return redirect(f"{PATH}?done=moved#taxon-{taxon_id}")


def _errors_for(error: Invalid, name: str) -> dict[str, Any]:
    """Assigns all errors to the only field of the form."""
    return {name: [sentence for sentences in error.errors.values() for sentence in sentences]}


async def _trees(ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    taxons = await taxon_pages.list_taxons(ctx.db)
    trees = [
        (tree, [taxon for taxon in taxons if taxon.taxonomy_id == tree.id])
        for tree in await taxon_pages.list_taxonomies(ctx.db)
    ]
    return page(
        "catalog/products/taxons.html",
        page_context,
        status,
        **{"form_texts": {}, **more},
        trees=trees,
        head=ListHead(sum(taxon.parent_id is not None for taxon in taxons)),
        indented=_indented_options,
        firsts={taxon.parent_id: taxon.id for taxon in reversed(taxons)}.values(),
        lasts={taxon.parent_id: taxon.id for taxon in taxons}.values(),
        labels=LABELS,
    )


async def taxon_page(
    ctx: Context,
    page_context: PageContext,
    taxon: Taxon,
    texts: Mapping[str, str] | None = None,
    *,
    status: int = 200,
    **more: Any,
) -> Reply:
    """Renders the page of one taxon; `texts` replaces stored values in its forms."""
    image = await find_taxon_image(ctx.db, taxon.id)
    values = {"name": taxon.name, "slug": taxon.slug, "description": taxon.description or ""}
    values |= {"parent_id": str(taxon.parent_id or ""), "alt": (image and image.alt) or "", "new_alt": ""}
    tree = [other for other in await taxon_pages.list_taxons(ctx.db) if other.taxonomy_id == taxon.taxonomy_id]
    by_id = {other.id: other for other in tree}
    parents = [other for other in tree if not is_within(by_id, other.id, taxon.id)]
    return page(
        "catalog/products/taxon.html",
        page_context,
        status,
        **{"errors": {}, "conflict": None, "theirs": {}, "seen_at": taxon.updated_at.isoformat(), **more},
        taxon=taxon,
        image=image,
        values={**values, **(texts or {})},
        parents=_indented_options(parents),
        labels=LABELS,
    )


def _indented_options(taxons: Sequence[Taxon]) -> dict[str, str]:
    """Returns the taxons as options of a select box, indented by depth."""
    return {str(taxon.id): "\u2003" * taxon.depth + taxon.name for taxon in taxons}
