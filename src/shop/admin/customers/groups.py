"""Pages for customer groups and their members."""

from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import CUSTOMER_GROUP, CUSTOMER_GROUP_MEMBER
from shop.actions.context import Context
from shop.actions.customers import assignments
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.listing import SIZE, build_head, list_by_email, number_pages, read_page, read_sort
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import link_uses
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.models.access.users import customer_groups
from shop.queries.customers import groups as group_pages
from shop.queries.customers.groups import CountedGroup
from shop.queries.setup.uses import list_losses, list_promotion_uses
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/customer-groups"
_SORTS = {"name": "Name", "members": "Most members", "newest": "Newest"}
LABELS = {"name": "Name", "description": "Description", "emails": "E-mail addresses"}
_NOTICES = {
    "made": "Group created. Add customers next.",
    "saved": "Saved.",
    "added": "Customers added.",
    "removed": "Customer removed.",
    "deleted": "Group deleted. Its members remain customers.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _list(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        values = _read(fields)
        fields.check()
        group_id = await records.create(ctx, CUSTOMER_GROUP, values)
    except Invalid as error:
        return await _list(request, ctx, page_context, 422, errors=error.errors, form_texts=fields.texts)
    return redirect(f"{PATH}/{group_id}?done=made")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    group = await _get(ctx, id_of(request, "group_id"))
    return await _one(request, ctx, page_context, group, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    group, fields = await _get(ctx, id_of(request, "group_id")), Fields(request)
    try:
        values = _read(fields)
        fields.check()
        await records.update(ctx, CUSTOMER_GROUP, group.id, values, fields.texts.get("seen_at"))
    except Invalid as error:
        more = {"errors": error.errors, "seen_at": fields.texts.get("seen_at", "")}
        return await _one(request, ctx, page_context, group, 422, form_texts=fields.texts, **more)
    except ChangedMeanwhile as conflict:
        group = await _get(ctx, group.id)
        latest_texts = {"name": group.name, "description": group.description or ""}
        more = {"conflict": conflict.sentence, "theirs": list_differences(LABELS, fields.texts, latest_texts)}
        return await _one(request, ctx, page_context, group, 409, form_texts=fields.texts, **more)
    return redirect(f"{PATH}/{group.id}?done=saved")


async def add_members(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    group, fields = await _get(ctx, id_of(request, "group_id")), Fields(request)
    text = fields.texts.get("emails", "")
    try:
        await assignments.assign(ctx, CUSTOMER_GROUP_MEMBER, ("customer_group_id", group.id), text)
    except Invalid as error:
        return await _one(request, ctx, page_context, group, 422, errors=error.errors, emails=text)
    return redirect(f"{PATH}/{group.id}?done=added")


async def remove_member(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    group_id = id_of(request, "group_id")
    owner = ("customer_group_id", group_id)
    await assignments.unassign(ctx, CUSTOMER_GROUP_MEMBER, owner, id_of(request, "link_id"))
    return redirect(f"{PATH}/{group_id}?done=removed")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    group = await _get(ctx, id_of(request, "group_id"))
    users = {
        "customer_group_members": ("Members", f"/admin/customers?group={group.id}"),
        "price_list_groups": ("Price lists", "/admin/price-lists"),
    }
    uses = await list_losses(ctx.db, customer_groups, users, group.id)
    uses += await list_promotion_uses(ctx.db, "group_ids", group.id)
    lists = f"of {', '.join(group.list_names)} " if group.list_names else ""
    return confirmation_page(
        page_context,
        question=f"Delete group “{group.name}”?",
        sentence=f"The members will remain customers, and will lose the prices {lists}and promotions of this group. "
        "This cannot be undone.",
        uses=link_uses(uses, users),
        action=f"{PATH}/{group.id}/delete",
        button="Delete group",
        back=(f"{PATH}/{group.id}", group.name),
    )


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await records.delete(ctx, CUSTOMER_GROUP, id_of(request, "group_id"))
    return redirect(f"{PATH}?done=deleted")


def _read(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.line("name", most=100, required=True),
        "description": fields.line("description", most=500) or None,
    }


async def _list(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    number, sort, count = read_page(request), read_sort(request, _SORTS), await group_pages.count_groups(ctx.db)
    return page(
        "customers/customer_groups.html",
        page_context,
        status,
        **{"form_texts": {}, **more},
        groups=await group_pages.list_groups(ctx.db, sort=sort, skip=(number - 1) * SIZE, most=SIZE),
        head=build_head(PATH, count, _SORTS, sort, {}),
        pages=number_pages(PATH, {"sort": sort}, number, count, SIZE),
        labels=LABELS,
    )


async def _one(
    request: Request, ctx: Context, page_context: PageContext, group: CountedGroup, status: int = 200, **more: Any
) -> Reply:
    users = await list_by_email(
        request,
        f"{PATH}/{group.id}",
        lambda search, cursor, most: group_pages.list_members(ctx.db, group.id, search, cursor, most=most),
        lambda search: group_pages.count_members(ctx.db, group.id, search),
    )
    texts = {"name": group.name, "description": group.description or ""} | more.pop("form_texts", {})
    return page(
        "customers/customer_group.html",
        page_context,
        status,
        **{"emails": "", "conflict": None, "theirs": {}, "seen_at": group.updated_at.isoformat(), **users, **more},
        group=group,
        form_texts=texts,
        lists=await group_pages.list_lists_of(ctx.db, group.id),
        labels=LABELS,
    )


async def _get(ctx: Context, group_id: UUID) -> CountedGroup:
    group = await group_pages.find_group(ctx.db, group_id)
    if group is None:
        raise NotFound()
    return group
