"""Dashboard routes of webhook endpoints and deliveries."""

from shop.admin.platform_events import PlatformEvents
from shop.admin.route_builder import RouteBuilder
from shop.admin.webhooks import deliveries, endpoints
from shop.admin.webhooks.deliveries import DeliveryPages
from shop.admin.webhooks.endpoints import PATH, EndpointForm
from shop.web.endpoint import Route

_ENDPOINT = f"{PATH}/{{endpoint_id}}"
_DELIVERY = f"{_ENDPOINT}/deliveries/{{delivery_id}}"
# Enough for all types of events, plus the other fields of the form.
_MANY = 600


def webhook_routes(builder: RouteBuilder, events: PlatformEvents) -> tuple[Route, ...]:
    """Pages that choose where data is sent, or that show a secret, require a recent password confirmation."""
    page, act, form, log = builder.page, builder.act, EndpointForm(events), DeliveryPages(events)
    new, edit, delete = f"{PATH}/new", f"{_ENDPOINT}/edit", f"{_ENDPOINT}/delete"
    return (
        page(PATH, endpoints.listing, "Webhook endpoints"),
        page(new, form.new, "New webhook endpoint", fresh=True),
        act(new, form.create, "Create a webhook endpoint", back=new, most_params=_MANY),
        page(_ENDPOINT, endpoints.show, "One webhook endpoint"),
        page(edit, form.edit, "Edit a webhook endpoint", fresh=True),
        act(edit, form.change, "Change a webhook endpoint", back=edit, most_params=_MANY),
        act(f"{_ENDPOINT}/rotate", endpoints.rotate, "Rotate the secret of a webhook endpoint", back=_ENDPOINT),
        act(f"{_ENDPOINT}/enable", endpoints.enable, "Enable a webhook endpoint"),
        act(f"{_ENDPOINT}/disable", endpoints.disable, "Disable a webhook endpoint"),
        page(delete, endpoints.show_delete, "Delete a webhook endpoint?", fresh=True),
        act(delete, endpoints.delete, "Delete a webhook endpoint", back=delete),
        act(f"{_ENDPOINT}/test", log.send_test, "Send a test event"),
        page(f"{_ENDPOINT}/replay", deliveries.show_replay, "Replay events"),
        act(f"{_ENDPOINT}/replay", deliveries.replay, "Replay events to a webhook endpoint"),
        page(f"{_ENDPOINT}/deliveries", log.listing, "Webhook deliveries"),
        page(_DELIVERY, log.show, "One webhook delivery"),
        act(f"{_DELIVERY}/resend", log.resend, "Resend a webhook delivery"),
    )
