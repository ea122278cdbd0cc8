"""Pages for webhook endpoints: list, create, edit, rotate the secret, disable, delete. A secret is displayed once."""

from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.webhooks import pages as webhooks
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT, find_errors
from shop.actions.webhooks.secrets import rotate_secret
from shop.admin.fields import Fields, id_of, list_differences, moment_text
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.platform_events import PlatformEvents
from shop.admin.webhooks.form import (
    LABELS,
    endpoint_values,
    form_values,
    group_types,
    list_unknown,
    new_values,
    read_endpoint,
)
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.base.ids import as_uuid, new_id
from shop.models.webhooks.inputs import WebhookEndpointInput
from shop.queries.webhooks import pages as webhook_pages
from shop.queries.webhooks.pages import MAX_WAITING, EndpointWithHealth
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/integrations/webhooks"
_SORTS = {
    "newest": RowSort("Newest", lambda endpoint: endpoint.created_at, is_descending=True),
    "url": RowSort("URL", lambda endpoint: fold_text(endpoint.url)),
    "waiting": RowSort("Most waiting", lambda endpoint: endpoint.waiting_count, is_descending=True),
}
OVERLAPS = {"0": "None: the old secret stops working now", "1": "1 hour", "24": "1 day", "168": "7 days"}
NOTICES = {
    "made": "Endpoint created. Its secret was shown once and cannot be shown again; rotate it if it was lost.",
    "saved": "Saved.",
    "rotated": "The secret was already rotated and shown once; rotate it again if it was lost.",
    "disabled": "Endpoint disabled. It receives no events.",
    "deleted": "Endpoint deleted.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    rows, head = sort_rows(request, PATH, await webhook_pages.list_endpoints(ctx.db), _SORTS)
    return page(
        "webhooks/endpoints.html",
        page_context,
        endpoints=rows,
        head=head,
        most_waiting=MAX_WAITING,
        notice=notice_of(request, NOTICES),
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    endpoint = await _get(request, ctx)
    return page(
        "webhooks/endpoint.html",
        page_context,
        endpoint=endpoint,
        secrets=await webhooks.list_valid_secrets(ctx, endpoint.id),
        overlaps=OVERLAPS,
        most_waiting=MAX_WAITING,
        notice=notice_of(request, NOTICES),
    )


async def rotate(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Replaces the secret. The form names the current secret, so a repeated submit rotates only once."""
    fields, endpoint = Fields(request), await _get(request, ctx)
    overlap, replaces = fields.texts.get("overlap", ""), fields.id("replaces")
    if overlap not in OVERLAPS:
        raise Invalid({}, "Choose how long the old secret stays valid.")
    if replaces is None or not await rotate_secret(ctx, endpoint.id, int(overlap), replaces=replaces):
        return redirect(f"{PATH}/{endpoint.id}?done=rotated")
    secret = await webhooks.read_newest_secret(ctx, endpoint.id)
    return _secret_page(page_context, endpoint.id, endpoint.url, secret, is_new=False)


async def enable(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Enables an endpoint, and offers to replay the events that it has missed."""
    endpoint = await _get(request, ctx)
    await records.update(ctx, WEBHOOK_ENDPOINT, endpoint.id, {"enabled": True})
    since = moment_text(endpoint.failing_since or endpoint.disabled_at, page_context.shop.zone)
    return redirect(f"{PATH}/{endpoint.id}/replay?done=enabled&since={since}")


async def disable(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    endpoint = await _get(request, ctx)
    await records.update(ctx, WEBHOOK_ENDPOINT, endpoint.id, {"enabled": False})
    return redirect(f"{PATH}/{endpoint.id}?done=disabled")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    endpoint = await _get(request, ctx)
    here = f"{PATH}/{endpoint.id}"
    return confirmation_page(
        page_context,
        question="Delete this endpoint?",
        sentence=f"{endpoint.url} will receive no more events, and its deliveries will no longer be shown. "
        "This cannot be undone.",
        button="Delete endpoint",
        action=f"{here}/delete",
        back=(here, "Endpoint"),
    )


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await records.delete(ctx, WEBHOOK_ENDPOINT, id_of(request, "endpoint_id"))
    return redirect(f"{PATH}?done=deleted")


class EndpointForm(msgspec.Struct, frozen=True):
    """The pages with the form of an endpoint, which lists all types of events."""

    events: PlatformEvents

    async def new(self, _request: Request, _ctx: Context, page_context: PageContext) -> Reply:
        return self._page(page_context, None, new_values(), id=new_id())

    async def create(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        """Creates an endpoint. The form carries the id, so a repeated submit creates only one."""
        fields = Fields(request)
        endpoint_id = as_uuid(fields.texts.get("id", ""))
        if endpoint_id is None or endpoint_id.version != 7:
            return redirect(f"{PATH}/new")
        try:
            values = _read(ctx, fields)
            secret = await webhooks.create_from_form(ctx, endpoint_id, values)
        except Invalid as error:
            return self._page(page_context, None, form_values(fields), status=422, id=endpoint_id, errors=error.errors)
        if secret is None:
            return redirect(f"{PATH}/{endpoint_id}?done=made")
        return _secret_page(page_context, endpoint_id, values["url"], secret, is_new=True)

    async def edit(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint = await _get(request, ctx)
        return self._page(page_context, endpoint, endpoint_values(endpoint))

    async def change(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint, fields = await _get(request, ctx), Fields(request)
        try:
            values = _read(ctx, fields)
            await records.update(ctx, WEBHOOK_ENDPOINT, endpoint.id, values, fields.texts.get("seen_at"))
        except Invalid as error:
            more: dict[str, Any] = {"errors": error.errors, "seen_at": fields.texts.get("seen_at", "")}
            return self._page(page_context, endpoint, form_values(fields), 422, **more)
        except ChangedMeanwhile as conflict:
            submitted, endpoint = form_values(fields), await _get(request, ctx)
            differences = list_differences(LABELS, submitted, endpoint_values(endpoint))
            more = {"conflict": conflict.sentence, "theirs": differences}
            return self._page(page_context, endpoint, submitted, 409, **more)
        return redirect(f"{PATH}/{endpoint.id}?done=saved")

    def _page(
        self,
        page_context: PageContext,
        endpoint: EndpointWithHealth | None,
        values: Any,
        status: int = 200,
        **more: Any,
    ) -> Reply:
        main_groups, other_groups = group_types(self.events.types)
        return page(
            "webhooks/endpoint_form.html",
            page_context,
            status,
            endpoint=endpoint,
            values=values,
            labels=LABELS,
            main_groups=main_groups,
            other_groups=other_groups,
            unknown_types=list_unknown(self.events.types, values["types"]),
            **{
                "conflict": None,
                "theirs": {},
                "seen_at": endpoint.updated_at.isoformat() if endpoint else "",
                **more,
            },
        )


async def _get(request: Request, ctx: Context) -> EndpointWithHealth:
    return await webhooks.get_endpoint(ctx, id_of(request, "endpoint_id"))


def _read(ctx: Context, fields: Fields) -> WebhookEndpointInput:
    """Reads the form; raises all errors at once."""
    values = read_endpoint(fields)
    for name, errors in find_errors(ctx, values).items():
        fields.errors.setdefault(name, errors)
    fields.check()
    return values


def _secret_page(page_context: PageContext, endpoint_id: UUID, url: str, secret: str | None, *, is_new: bool) -> Reply:
    """Returns the secret in the response body, because no URL shows it again."""
    return page(
        "webhooks/endpoint_secret.html", page_context, endpoint_id=endpoint_id, url=url, secret=secret, is_new=is_new
    )
