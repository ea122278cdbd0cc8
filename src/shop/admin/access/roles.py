"""Pages of roles: list, create, change as a table of permissions, delete."""

from decimal import Decimal
from typing import Any

from shop.actions.access import roles
from shop.actions.access.roles import RoleInput
from shop.actions.context import Context
from shop.actions.setup.shop import change_refund_approval
from shop.admin.fields import Fields, chosen_words, id_of, list_differences
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.admin.uses import link_uses
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.base.values import read_decimal
from shop.models.access.roles import Role
from shop.models.access.roles import roles as role_table
from shop.queries.setup.uses import list_uses
from shop.rules.access.permissions import BUILT_IN, RESOURCES, SPECIAL
from shop.rules.access.roles import covers_role, is_owner, permissions_of
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/roles"
_SORTS = {
    "built-in": RowSort("Built-in first", lambda role: (role.code is None, role.id)),
    "name": RowSort("Name", lambda role: fold_text(role.name)),
    "operators": RowSort("Most operators", lambda role: role.operator_count, is_descending=True),
}
_LABELS = {"name": "Name", "permissions": "Permissions", "refund_limit": "Refund limit"}
_NOTICES = {"created": "Role created.", "saved": "Saved.", "deleted": "Role deleted."}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _listing_page(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def change_approval(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    amount = fields.number("amount")
    try:
        fields.check()
        await change_refund_approval(ctx, amount)
    except Invalid as error:
        return await _listing_page(
            request, ctx, page_context, 422, errors=error.errors, approval_text=fields.texts.get("amount", "")
        )
    return redirect(f"{PATH}?done=saved")


async def _listing_page(
    request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any
) -> Reply:
    rows, head = sort_rows(request, PATH, await roles.list_roles(ctx), _SORTS)
    amount = ctx.shared.shop.refund_approval_amount
    approval_text = "" if amount is None else f"{amount:f}"
    refunding_ids = {row.id for row in rows if "refunds:write" in permissions_of(row)}
    context = {"approval_text": approval_text, "errors": {}, "head": head, "refunding_ids": refunding_ids, **more}
    return page("access/roles.html", page_context, status, roles=rows, descriptions=_describe(rows), **context)


def _describe(rows: Any) -> dict[Any, str]:
    return {
        row.id: BUILT_IN[row.code].description if row.code in BUILT_IN else f"{len(permissions_of(row))} permissions"
        for row in rows
    }


async def new(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return _form_page(page_context, None, {"name": "", "permissions": frozenset(), "refund_limit": ""})


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    values = _read_form(request)
    try:
        await roles.create_role(ctx, _read_input(values))
    except Invalid as error:
        return _form_page(page_context, None, values, 422, errors=error.errors)
    return redirect(f"{PATH}?done=created")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    role = await roles.get_role(ctx, id_of(request, "role_id"))
    uses = link_uses(await list_uses(ctx.db, role_table, role.id))
    return _form_page(page_context, role, _form_values(role), uses=uses, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    role_id, values, seen_at = id_of(request, "role_id"), _read_form(request), form(request).get("seen_at")
    try:
        await roles.change_role(ctx, role_id, _read_input(values), seen_at=seen_at)
    except (Invalid, ChangedMeanwhile) as error:
        role = await roles.get_role(ctx, role_id)
        stored_values = _form_values(role)
        if role.code is not None:
            values |= {"name": role.name, "permissions": permissions_of(role)}
        uses = link_uses(await list_uses(ctx.db, role_table, role.id))
        if isinstance(error, Invalid):
            more: dict[str, Any] = {"errors": error.errors, "seen_at": seen_at or ""}
        else:
            more = {"conflict": error.sentence, "theirs": list_differences(_LABELS, values, stored_values)}
        return _form_page(page_context, role, values, error.status, uses=uses, **more)
    return redirect(f"{PATH}/{role_id}?done=saved")


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await roles.delete_role(ctx, id_of(request, "role_id"))
    return redirect(f"{PATH}?done=deleted")


def _form_values(role: Role) -> dict[str, Any]:
    limit = "" if role.refund_limit is None else f"{role.refund_limit:f}"
    return {"name": role.name, "permissions": permissions_of(role), "refund_limit": limit}


def _read_form(request: Request) -> dict[str, Any]:
    fields = form(request)
    return {
        "name": fields.get("name", ""),
        "permissions": frozenset(chosen_words(request, "permissions")),
        "refund_limit": fields.get("refund_limit", "").strip(),
    }


def _read_input(values: dict[str, Any]) -> RoleInput:
    return RoleInput(values["name"], sorted(values["permissions"]), _read_limit(values["refund_limit"]))


def _read_limit(text: str) -> Decimal | None:
    if not text:
        return None
    try:
        return read_decimal(text)
    except ValueError as error:
        raise Invalid({"refund_limit": [str(error)]}) from None


def _form_page(
    page_context: PageContext, role: Role | None, values: dict[str, Any], status: int = 200, **others: Any
) -> Reply:
    return page(
        "access/role.html",
        page_context,
        status,
        role=role,
        values=values,
        resources=RESOURCES,
        special=SPECIAL,
        labels=_LABELS,
        can_change=role is None or (not is_owner(role) and covers_role(page_context.operator_session.role, role)),
        **{"conflict": None, "theirs": {}, "seen_at": role.updated_at.isoformat() if role else "", **others},
    )
