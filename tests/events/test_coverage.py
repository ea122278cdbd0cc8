"""Every route that changes data causes an event, or is listed here with the reason why it does not.

Three proofs together, because valid input for each of some four hundred routes and forms would be a suite of its own:

1. For every route: its code reaches one of the functions that note events, by the names in the code. This finds a new
   route, or a new action of the dashboard, without events.
2. For the Platform API, the storefront's accounts and the forms whose changes no API makes: a walk with valid requests,
   in which every route must cause an event, and together they cause every type that the shop lists.
3. For every row that any test of the suite lets the shop change: `tests/unlogged_changes.py` finds transactions that
   change a record without an event about it. This proves the forms of the dashboard and of the website, which their own
   tests submit.
"""

from typing import Any

import httpx2
import pytest

from shop.actions import events
from shop.platform.events.types import EVENT_TYPES
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup
from tests.events import walk
from tests.events.call_graph import reaches
from tests.events.feed import FeedReader, new_reader
from tests.events.route_events import CHANGING_ROUTES, RouteEvents, name_of
from tests.platform.client import Machine

NOTE_FUNCTIONS = (
    events.note_change,
    events.note_deletion,
    events.note_event,
    events.note_locked,
    events.note_replacement,
    events.note_rows,
)
OPEN_CART = "open carts and their checkout have no events; the order has them when it completes"
SESSION = "a session or a code; the audit has it"
CREDENTIAL = "a password or second factor of an operator; the audit has it, and the operator gets an e-mail"
LISTENER = "the progress of a listener of an extension; the audit has it"
WEBHOOK = "sends events again, or a test, or signs them with another secret; the audit has it"
BATCH = "starts a batch, which the audit has; the worker changes the products and notes their events"
EXCEPTIONS = {
    "POST /admin/settings/operators/{operator_id}/resend": "sends an e-mail with a new link; the audit has it",
    **dict.fromkeys(
        (
            "POST /admin/stock/deliveries/new",
            "POST /admin/stock/deliveries/{delivery_id}",
            "POST /admin/stock/deliveries/{delivery_id}/lines",
            "POST /admin/stock/deliveries/{delivery_id}/lines/{line_id}/remove",
        ),
        "only the dashboard knows deliveries; their receipt changes stock items, which have events",
    ),
    "POST /admin/stock/{item_id}/threshold": "only the dashboard knows thresholds; the audit has them",
    **dict.fromkeys(
        (
            f"POST /admin/imports/{kind}{step}"
            for kind in ("products", "stock", "customers")
            for step in ("", "/{import_id}/check", "/{import_id}/start", "/{import_id}/delete")
        ),
        "a file; the worker that imports it notes the events of its records",
    ),
    "POST /admin/products/bulk": BATCH,
    "POST /admin/products/batches/{batch_id}/undo": BATCH,
    "POST /admin/approvals/{request_id}/decline": "only the dashboard knows requests of refunds; the audit has it",
    "POST /admin/orders/selected": "leads to a document or a file about orders; changes nothing",
    "POST /admin/orders/{number}/payment-link": "sends an e-mail; the audit has it",
    "POST /api/v2/platform/webhook_endpoints/{id}/test": WEBHOOK,
    "POST /api/v2/platform/webhook_endpoints/{id}/replay": WEBHOOK,
    "POST /api/v2/platform/webhook_deliveries/{id}/resend": WEBHOOK,
    "POST /api/v2/platform/webhook_endpoints/{id}/rotate_secret": WEBHOOK,
    **dict.fromkeys(
        (
            "POST /admin/sign-in/passkey/options",
            "POST /admin/sign-in/passkey",
            "POST /admin/confirm/passkey/options",
            "POST /admin/confirm/passkey",
            "POST /admin/account/passkeys/new/options",
            "POST /admin/account/passkeys/new",
            "POST /admin/account/passkeys/{passkey_id}",
            "POST /admin/account/passkeys/{passkey_id}/remove",
        ),
        SESSION,
    ),
    **dict.fromkeys(
        (
            "POST /admin/drafts/{number}/discount",
            "POST /admin/drafts/{number}/discount/remove",
            "POST /admin/drafts/{number}/coupon",
            "POST /admin/drafts/{number}/coupon/remove",
            "POST /admin/drafts/{number}/shipping",
            "POST /admin/drafts/{number}/pickup",
        ),
        OPEN_CART,
    ),
    "DELETE /api/v2/storefront/auth/{token*}": SESSION,
    "POST /api/v2/storefront/cart": OPEN_CART,
    "DELETE /api/v2/storefront/cart": OPEN_CART,
    "POST /api/v2/storefront/cart/add_item": OPEN_CART,
    "POST /api/v2/storefront/cart/add_items": OPEN_CART,
    "PATCH /api/v2/storefront/cart/set_quantity": OPEN_CART,
    "DELETE /api/v2/storefront/cart/remove_line_item/{id}": OPEN_CART,
    "PATCH /api/v2/storefront/cart/empty": OPEN_CART,
    "PATCH /api/v2/storefront/cart/change_currency": OPEN_CART,
    "PATCH /api/v2/storefront/cart/associate": OPEN_CART,
    "PATCH /api/v2/storefront/cart/apply_coupon_code": OPEN_CART,
    "DELETE /api/v2/storefront/cart/remove_coupon_code": OPEN_CART,
    "DELETE /api/v2/storefront/cart/remove_coupon_code/{code}": OPEN_CART,
    "PATCH /api/v2/storefront/checkout": OPEN_CART,
    "PUT /api/v2/storefront/checkout": OPEN_CART,
    "PATCH /api/v2/storefront/checkout/next": OPEN_CART,
    "PATCH /api/v2/storefront/checkout/advance": OPEN_CART,
    "PATCH /api/v2/storefront/checkout/select_shipping_method": OPEN_CART,
    "POST /api/v2/storefront/checkout/create_payment": OPEN_CART,
    "POST /api/v2/storefront/checkout/add_store_credit": OPEN_CART,
    "POST /api/v2/storefront/checkout/remove_store_credit": OPEN_CART,
    "POST /api/v2/storefront/checkout/validate_order_for_payment": OPEN_CART,
    "POST /cart/items": OPEN_CART,
    "POST /cart/items/{id}": OPEN_CART,
    "POST /cart/items/{id}/remove": OPEN_CART,
    "POST /cart/accept": OPEN_CART,
    "POST /cart/coupon": OPEN_CART,
    "POST /cart/coupon/remove": OPEN_CART,
    "POST /checkout/delivery": OPEN_CART,
    "POST /checkout/payment": OPEN_CART,
    "POST /checkout/store-credit": OPEN_CART,
    "POST /checkout/store-credit/remove": OPEN_CART,
    "POST /orders/{number}/reorder": OPEN_CART,
    "POST /api/v2/platform/orders": OPEN_CART,
    "DELETE /api/v2/platform/orders/{id}": OPEN_CART,
    "PATCH /api/v2/platform/orders/{id}/next": OPEN_CART,
    "PATCH /api/v2/platform/orders/{id}/advance": OPEN_CART,
    "PATCH /api/v2/platform/orders/{id}/empty": OPEN_CART,
    "PATCH /api/v2/platform/orders/{id}/apply_coupon_code": OPEN_CART,
    "PATCH /api/v2/platform/orders/{id}/use_store_credit": OPEN_CART,
    "POST /api/v2/platform/line_items": OPEN_CART,
    "PATCH /api/v2/platform/line_items/{id}": OPEN_CART,
    "PUT /api/v2/platform/line_items/{id}": OPEN_CART,
    "DELETE /api/v2/platform/line_items/{id}": OPEN_CART,
    "POST /api/v2/platform/adjustments": OPEN_CART,
    "PATCH /api/v2/platform/adjustments/{id}": OPEN_CART,
    "PUT /api/v2/platform/adjustments/{id}": OPEN_CART,
    "DELETE /api/v2/platform/adjustments/{id}": OPEN_CART,
    "POST /api/v2/platform/shipments": OPEN_CART,
    "PATCH /api/v2/platform/shipments/{id}/add_item": OPEN_CART,
    "PATCH /api/v2/platform/shipments/{id}/remove_item": OPEN_CART,
    "DELETE /api/v2/storefront/account/sessions/{id}": SESSION,
    "DELETE /api/v2/storefront/account/credit_cards/{id}": "a saved card, which the platform does not list",
    "POST /account/cards/{id}/delete": "a saved card, which the platform does not list",
    "POST /shop_oauth/token": SESSION,
    "POST /spree_oauth/token": SESSION,
    "POST /shop_oauth/revoke": SESSION,
    "POST /spree_oauth/revoke": SESSION,
    "POST /shop_oauth/introspect": "only reads",
    "POST /spree_oauth/introspect": "only reads",
    "POST /sign-in": SESSION,
    "POST /sign-out": SESSION,
    "POST /account/sessions/others/end": SESSION,
    "POST /account/sessions/{id}/end": SESSION,
    "POST /admin/sign-in": SESSION,
    "POST /admin/sign-in/code": SESSION,
    "POST /admin/sign-out": SESSION,
    "POST /admin/confirm": SESSION,
    "POST /admin/account/sessions/end": SESSION,
    "POST /admin/customers/{user_id}/sessions/{session_id}/end": SESSION,
    "POST /admin/customers/{user_id}/sessions/end": SESSION,
    "POST /admin/account/password": CREDENTIAL,
    "POST /admin/account/authenticator": CREDENTIAL,
    "POST /admin/account/authenticator/remove": CREDENTIAL,
    "POST /admin/account/recovery-codes": CREDENTIAL,
    "POST /admin/integrations/webhooks/{endpoint_id}/rotate": WEBHOOK,
    "POST /admin/integrations/webhooks/{endpoint_id}/test": WEBHOOK,
    "POST /admin/integrations/webhooks/{endpoint_id}/replay": WEBHOOK,
    "POST /admin/integrations/webhooks/{endpoint_id}/deliveries/{delivery_id}/resend": WEBHOOK,
    "POST /admin/integrations/extensions/{listener_id}/retry": LISTENER,
    "POST /admin/integrations/extensions/{listener_id}/skip": LISTENER,
    "POST /admin/integrations/extensions/webhooks/{webhook_id}/retry": LISTENER,
    "POST /admin/settings/checks": "only reads",
    "POST /admin/settings/mails/{kind}/preview": "only reads",
    "POST /admin/settings/mails/{kind}/test": "an e-mail with example data to the operator; the audit has it",
    "POST /test_card/{client_secret}": "the test card of a try-out; the payment has the event",
}
"""Routes without events, with the reasons."""
WALKED_PREFIXES = ("/api/v2/platform", "/api/v2/storefront")


def test_the_code_of_every_route_that_changes_data_notes_events() -> None:
    silent_routes = {name_of(route) for route in CHANGING_ROUTES if not reaches(route.handler, NOTE_FUNCTIONS)}

    assert silent_routes - EXCEPTIONS.keys() == set()


def test_every_exception_is_a_route() -> None:
    assert set(EXCEPTIONS) <= {name_of(route) for route in CHANGING_ROUTES}


@pytest.mark.torture
async def test_every_route_of_the_apis_causes_an_event_and_every_type_occurs(
    http: httpx2.AsyncClient, writer: Machine, make: Make, checkout_setup: CheckoutSetup, db: Any, database_url: str
) -> None:
    noted, feed = RouteEvents(db), await new_reader(writer)
    await noted.watch(http)
    await walk.change_every_resource(writer)
    await walk.move_records(writer, make)
    await walk.import_catalog(writer)
    await walk.run_order_operations(writer, checkout_setup, db)
    await walk.complete_for_a_customer(writer, checkout_setup)
    member = await walk.use_account(http, checkout_setup, make)
    await walk.use_dashboard(http, db, await member.id())
    await walk.mail_a_quote(http, db, make)
    await walk.fail_an_endpoint(writer, make, db)
    await walk.leave_a_cart(http, checkout_setup, db, database_url)
    await noted.read_new()
    # Every event before this one can be shown; stock changes, which wait for a second, may come later.
    last = await make.new("tax_categories", "tax_category", name="Last")
    bodies = await read_until(feed, last.id)

    without_events = {
        name_of(route)
        for route in CHANGING_ROUTES
        if route.path.startswith(WALKED_PREFIXES) and not noted.types_by_route.get(name_of(route))
    }
    causing_events = {name for name in EXCEPTIONS if noted.types_by_route.get(name, set()) - {"stock.changed"}}
    assert without_events - set(EXCEPTIONS) == set()
    assert causing_events == set()
    assert {each.type for each in EVENT_TYPES} == noted.types
    assert [body["type"] for body in bodies if "attributes" not in body["data"]] == []


async def read_until(feed: FeedReader, record_id: str) -> list[dict[str, Any]]:
    """All events up to the first one about this record."""
    bodies: list[dict[str, Any]] = []
    while not any(body["data"]["id"] == record_id for body in bodies):
        bodies += await feed.read()
    return bodies
