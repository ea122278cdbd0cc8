"""Pages for webhook deliveries: list, request and responses of one, resend, replay, and test."""

import json
from datetime import tzinfo
from typing import Any

import msgspec

from shop import __version__
from shop.actions.context import Context
from shop.actions.webhooks import deliveries
from shop.actions.webhooks import pages as webhooks
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT
from shop.actions.webhooks.pages import DeliveryDetails
from shop.admin.fields import Fields, id_of, moment_text
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.platform_events import PlatformEvents
from shop.admin.webhooks.endpoints import PATH
from shop.base.errors import Conflict, Invalid
from shop.base.ids import event_id
from shop.models.webhooks.inputs import WebhookReplayInput
from shop.queries.webhooks import pages as webhook_pages
from shop.queries.webhooks.pages import EndpointWithHealth
from shop.rules.event_types import parse_type_patterns
from shop.web.input.request import Request
from shop.web.reply import Reply

STATES = {
    "": "All",
    "pending": "Waiting",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "canceled": "Canceled",
}
SORTS = {"newest": "Newest", "oldest": "Oldest"}
RANGES = {"time": "By time", "position": "By position"}
LABELS = {
    "range": "Range",
    "since": "From",
    "until": "To",
    "from_position": "First position to send",
    "to_position": "Last position to send",
    "base": "The replay",
}
_NOTICES = {
    "enabled": "Endpoint enabled. It receives events from now on. Here you can replay those that it has missed.",
    "replayed": "Replay started. Its deliveries appear here as they are queued.",
    "resent": "Queued. Reload the page to see the response.",
    "tested": "Test event sent. The response is below.",
}


class DeliveryPages(msgspec.Struct, frozen=True):
    """The pages that show or send the body of an event."""

    events: PlatformEvents

    async def listing(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint = await webhooks.get_endpoint(ctx, id_of(request, "endpoint_id"))
        params = {name: text_param(request, name) for name in ("state", "type")}
        cursor, sort, error = read_cursor(request), read_sort(request, SORTS), None
        try:
            patterns = parse_type_patterns(params["type"])
        except ValueError as invalid:
            patterns, error = [], f"The type {invalid}."
        criteria: dict[str, Any] = {"state": params["state"] if params["state"] in STATES else "", "patterns": patterns}
        rows = await webhook_pages.list_deliveries(
            ctx.db, endpoint.id, **criteria, cursor=cursor, sort=sort, most=SIZE + 1
        )
        page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params={**params, "sort": sort})
        count = await count_list(rows, cursor, lambda: webhook_pages.count_deliveries(ctx.db, endpoint.id, **criteria))
        return page(
            "webhooks/deliveries.html",
            page_context,
            422 if error else 200,
            endpoint=endpoint,
            deliveries=page_rows,
            head=build_head(f"{PATH}/{endpoint.id}/deliveries", count, SORTS, sort, params),
            pages=pages,
            params=params,
            states=STATES,
            types=[each.type for each in self.events.types],
            error=error,
            notice=notice_of(request, _NOTICES),
        )

    async def show(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint, details = await _load(request, ctx)
        return self._page(ctx, page_context, endpoint, details, notice=notice_of(request, _NOTICES))

    async def resend(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint, details = await _load(request, ctx)
        try:
            delivery_id = await deliveries.resend(ctx, details.delivery.id)
        except Conflict as error:
            return self._page(ctx, page_context, endpoint, details, 409, refusal=error.sentence)
        return redirect(f"{PATH}/{endpoint.id}/deliveries/{delivery_id}?done=resent")

    async def send_test(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        endpoint_id = id_of(request, "endpoint_id")
        delivery_id = await deliveries.send_test(
            ctx,
            endpoint_id,
            WEBHOOK_ENDPOINT.subject,
            lambda event: self.events.render_webhook(ctx.shared, event, page_context.origin),
        )
        return redirect(f"{PATH}/{endpoint_id}/deliveries/{delivery_id}?done=tested")

    def _page(
        self,
        ctx: Context,
        page_context: PageContext,
        endpoint: EndpointWithHealth,
        details: DeliveryDetails,
        status: int = 200,
        **more: Any,
    ) -> Reply:
        delivery, event = details.delivery, details.event
        body = self.events.render_webhook(ctx.shared, event, page_context.origin).body.decode() if event else None
        return page(
            "webhooks/delivery.html",
            page_context,
            status,
            **{"refusal": None, **more},
            endpoint=endpoint,
            delivery=delivery,
            attempts=details.attempts,
            event_id=event_id(delivery.event_id),
            user_agent=f"shop/{__version__}",
            body=body,
            formatted_body=json.dumps(json.loads(body), indent=2, ensure_ascii=False) if body else None,
            is_test=delivery.event_type == deliveries.TEST_TYPE,
        )


async def show_replay(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    endpoint = await webhooks.get_endpoint(ctx, id_of(request, "endpoint_id"))
    # After an outage, the events that the endpoint has missed.
    since = text_param(request, "since") or moment_text(endpoint.failing_since, page_context.shop.zone)
    values = {**dict.fromkeys(LABELS, ""), "range": "time", "since": since}
    return _replay_page(page_context, endpoint, values, notice=notice_of(request, _NOTICES))


async def replay(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    endpoint, fields = await webhooks.get_endpoint(ctx, id_of(request, "endpoint_id")), Fields(request)
    values = {name: fields.texts.get(name, "") for name in LABELS}
    try:
        range_ = _read_range(fields, page_context.shop.zone)
        fields.check()
        await deliveries.replay(ctx, endpoint.id, range_)
    except Invalid as error:
        return _replay_page(page_context, endpoint, values, 422, errors=error.errors)
    except Conflict as error:
        return _replay_page(page_context, endpoint, values, 409, refusal=error.sentence)
    return redirect(f"{PATH}/{endpoint.id}/deliveries?done=replayed")


def _read_range(fields: Fields, zone: tzinfo) -> WebhookReplayInput:
    if fields.choice("range", RANGES) == "position":
        first = fields.whole("from_position", least=1, required=True)
        last = fields.whole("to_position", least=1)
        if first and last and last < first:
            fields.refuse("to_position", "must not be before the first position")
        return WebhookReplayInput(from_position=first, to_position=last)
    since, until = fields.moment("since", zone), fields.moment("until", zone)
    if not fields.texts.get("since", "").strip():
        fields.refuse("since", "Enter when the outage began.")
    if since and until and until < since:
        fields.refuse("until", "must not be before the start")
    return WebhookReplayInput(since=since, until=until)


def _replay_page(
    page_context: PageContext, endpoint: EndpointWithHealth, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    return page(
        "webhooks/replay.html",
        page_context,
        status,
        **{"refusal": None, **more},
        endpoint=endpoint,
        values=values,
        labels=LABELS,
        ranges=RANGES,
    )


async def _load(request: Request, ctx: Context) -> tuple[EndpointWithHealth, DeliveryDetails]:
    endpoint = await webhooks.get_endpoint(ctx, id_of(request, "endpoint_id"))
    return endpoint, await webhooks.get_delivery(ctx, endpoint.id, id_of(request, "delivery_id"))
