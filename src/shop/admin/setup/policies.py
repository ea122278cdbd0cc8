"""Pages for policies: terms, privacy, returns and others that the website shows."""

from typing import Any
from uuid import UUID

from shop.actions.content.resources import POLICY
from shop.actions.context import Context
from shop.admin.fields import Fields
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page
from shop.admin.setup.form import NOTICES, SetupForm, Values, list_all
from shop.rules.content.markdown import MAX_MARKDOWN_BYTES
from shop.rules.content.pages import TOO_LONG
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/policies"
_SORTS = {
    "name": RowSort("Name", lambda policy: fold_text(policy.name)),
    "changed": RowSort("Last changed", lambda policy: policy.updated_at, is_descending=True),
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    policies, head = sort_rows(request, PATH, [each.row for each in await list_all(ctx, POLICY)], _SORTS)
    return page("setup/policies.html", page_context, policies=policies, head=head, notice=notice_of(request, NOTICES))


async def _read(fields: Fields, _ctx: Context, _policy_id: UUID | None) -> Values:
    body = fields.prose("body", most=MAX_MARKDOWN_BYTES)
    if len(body.encode()) > MAX_MARKDOWN_BYTES and "body" not in fields.errors:
        fields.refuse("body", TOO_LONG)
    return {
        "name": fields.line("name", required=True),
        "slug": fields.line("slug", most=100),
        "body": body or None,
    }


_DEFAULTS: dict[str, Any] = {"name": "", "slug": "", "body": ""}
FORM = SetupForm(
    actions=POLICY,
    noun="policy",
    base=PATH,
    home=(PATH, "Policies"),
    template="setup/policy.html",
    labels={"name": "Name", "slug": "Page address", "body": "Text"},
    defaults=_DEFAULTS,
    read=_read,
    delete_note="Its page will disappear from the website.",
)
