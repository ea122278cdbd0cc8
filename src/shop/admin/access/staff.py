"""Staff pages: list operators, invite them, change their roles, disable and enable them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.access import operators, staff
from shop.actions.access import roles as role_actions
from shop.actions.context import Context
from shop.admin.fields import id_of
from shop.admin.listing import RowSort, fold_text, fold_time, sort_rows
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.rules.access.roles import covers_role
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/operators"
_SORTS = {
    "oldest": RowSort("Oldest", lambda operator: operator.created_at),
    "email": RowSort("E-mail", lambda operator: operator.email_key),
    "role": RowSort("Role", lambda operator: fold_text(operator.role_name)),
    "seen": RowSort("Last seen", lambda operator: fold_time(operator.last_seen_at), is_descending=True),
}
_NOTICES = {
    "disabled": "Operator disabled and signed out everywhere.",
    "enabled": "Operator enabled.",
    "role": "Role changed. It counts from the operator's next click.",
    "withdrawn": "Invitation withdrawn. Its link no longer works.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    rows, head = sort_rows(request, PATH, await operators.list_operators(ctx), _SORTS)
    return page(
        "access/operators.html",
        page_context,
        notice=notice_of(request, _NOTICES),
        operators=rows,
        head=head,
        role_names=await _list_role_names(ctx, page_context),
    )


async def new(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    role_names = await _list_role_names(ctx, page_context)
    return _invitation_page(page_context, "", "", role_names)


async def invite(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = form(request)
    email, role_id = fields.get("email", "").strip(), fields.get("role_id", "")
    try:
        token = await staff.invite(ctx, email, as_uuid(role_id))
    except Invalid as error:
        role_names = await _list_role_names(ctx, page_context)
        return _invitation_page(page_context, email, role_id, role_names, 422, errors=error.errors)
    return _link_page(page_context, email, token)


async def resend(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    operator_id = id_of(request, "operator_id")
    token = await staff.resend_invitation(ctx, operator_id)
    email = next(each.email for each in await operators.list_operators(ctx) if each.id == operator_id)
    return _link_page(page_context, email, token)


async def withdraw(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await staff.withdraw_invitation(ctx, id_of(request, "operator_id"))
    return redirect(f"{PATH}?done=withdrawn")


async def change_role(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    role_id = as_uuid(form(request).get("role_id", ""))
    await staff.change_operators_role(ctx, id_of(request, "operator_id"), role_id)
    return redirect(f"{PATH}?done=role")


async def disable(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await staff.disable_operator(ctx, id_of(request, "operator_id"))
    return redirect(f"{PATH}?done=disabled")


async def enable(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await staff.enable_operator(ctx, id_of(request, "operator_id"))
    return redirect(f"{PATH}?done=enabled")


def _invitation_page(
    page_context: PageContext,
    email: str,
    role_id: str,
    role_names: Mapping[UUID, str],
    status: int = 200,
    **others: Any,
) -> Reply:
    options = {"": "Choose a role", **{str(each): name for each, name in role_names.items()}}
    values = {"email": email, "role_id": role_id, "role_options": options}
    return page("access/operator_new.html", page_context, status, **values, **others)


def _link_page(page_context: PageContext, email: str, token: str) -> Reply:
    link = f"{page_context.origin}/admin/join/{token}"
    return page("access/operator_link.html", page_context, email=email, link=link)


async def _list_role_names(ctx: Context, page_context: PageContext) -> dict[UUID, str]:
    """Returns the roles that the operator may give to others, by id."""
    own_role = page_context.operator_session.role
    return {role.id: role.name for role in await role_actions.list_roles(ctx) if covers_role(own_role, role)}
