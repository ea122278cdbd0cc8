"""The account routes of the storefront."""

from typing import Any

from shop.actions.orders.resources import SORTS
from shop.models.checkout.filters import CardFilters
from shop.models.customers.inputs import AccountAddressInput, AccountAddressUpdateInput, AccountInput
from shop.storefront.customers import account
from shop.web.endpoint import Handler, Route

_ME = "/api/v2/storefront/account"
_READ = (400, 401)
_WRITE = (400, 401, 409, 413, 415, 422, 429)
_DELETE_ERRORS = (400, 401, 404, 413, 415)


def _patch(path: str, handler: Handler, summary: str, **options: Any) -> tuple[Route, Route]:
    """Routes for PATCH and PUT; some Spree clients send PUT."""
    return (
        Route("PATCH", path, handler, "user", summary, **options),
        Route("PUT", path, handler, "user", summary, **options),
    )


ROUTES = (
    Route("GET", _ME, account.show, "user", "Show the account", "user", 200, _READ),
    *_patch(_ME, account.update, "Update the account", shows="user", errors=_WRITE, takes=AccountInput),
    Route("GET", f"{_ME}/addresses", account.list_addresses, "user", "List addresses", "address[]", 200, _READ),
    Route(
        "POST",
        f"{_ME}/addresses",
        account.create_address,
        "user",
        "Create an address",
        "address",
        200,
        _WRITE,
        takes=AccountAddressInput,
    ),
    Route(
        "GET", f"{_ME}/addresses/{{id}}", account.show_address, "user", "Show an address", "address", 200, (*_READ, 404)
    ),
    *_patch(
        f"{_ME}/addresses/{{id}}",
        account.update_address,
        "Update an address",
        shows="address",
        errors=(*_WRITE, 404),
        takes=AccountAddressUpdateInput,
    ),
    Route(
        "DELETE",
        f"{_ME}/addresses/{{id}}",
        account.destroy_address,
        "user",
        "Delete an address",
        None,
        204,
        _DELETE_ERRORS,
    ),
    Route(
        "GET",
        f"{_ME}/credit_cards",
        account.list_cards,
        "user",
        "List saved credit cards",
        "credit_card[]",
        200,
        _READ,
        filters=CardFilters.__struct_fields__,
    ),
    Route(
        "GET",
        f"{_ME}/credit_cards/{{id}}",
        account.show_card,
        "user",
        "Show a saved credit card, or with `default` the one used last",
        "credit_card",
        200,
        (*_READ, 404),
    ),
    Route(
        "DELETE",
        f"{_ME}/credit_cards/{{id}}",
        account.destroy_card,
        "user",
        "Delete a saved credit card",
        None,
        204,
        _DELETE_ERRORS,
    ),
    Route(
        "GET", f"{_ME}/orders", account.list_orders, "user", "List completed orders", "order[]", 200, _READ, sorts=SORTS
    ),
    Route(
        "GET",
        f"{_ME}/orders/{{number}}",
        account.show_order,
        "user",
        "Show a completed order",
        "order",
        200,
        (*_READ, 404),
    ),
    Route(
        "GET",
        f"{_ME}/sessions",
        account.list_sessions,
        "user",
        "List sessions: where the user is signed in",
        "session[]",
        200,
        _READ,
    ),
    Route(
        "DELETE",
        f"{_ME}/sessions/{{id}}",
        account.destroy_session,
        "user",
        "Delete a session: sign out there",
        None,
        204,
        _DELETE_ERRORS,
    ),
)
