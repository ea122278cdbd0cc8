"""User, address and session resources."""

from typing import Any

from shop.base.money import currency_digits, wire_decimal
from shop.jsonapi.resource import RenderContext, computed, one, resource
from shop.models.access.sessions import Session
from shop.models.access.users import AccountUser
from shop.models.customers.addresses import AddressWithCountry
from shop.storefront.resources.viewer import Viewer


def _is_current(session: Any, render_context: RenderContext) -> bool:
    viewer: Viewer = render_context.props
    return bool(session.id == viewer.session_id)


def _store_credits(user: Any, render_context: RenderContext) -> int | str:
    """Returns the balance in the shop's first currency; the number 0 if there is none, as in Spree."""
    viewer: Viewer = render_context.props
    left = next((each["amount"] for each in user.credits if each["currency"] == viewer.currency), 0)
    return wire_decimal(left, currency_digits(viewer.currency)) if left else 0


USER = resource(
    "user",
    AccountUser,
    attributes=[
        "email",
        "first_name",
        "last_name",
        "selected_locale",
        computed("store_credits", _store_credits, int | str),
        "completed_orders",
        computed("tags", lambda _user, _context: [], list[str]),
        "public_metadata",
    ],
    relations=[one("default_billing_address", "address"), one("default_shipping_address", "address")],
)

ADDRESS = resource(
    "address",
    AddressWithCountry,
    attributes=[
        "firstname",
        "lastname",
        "company",
        "address1",
        "address2",
        "city",
        "zipcode",
        "phone",
        "state_name",
        "state_code",
        "country_name",
        "country_iso",
        "country_iso3",
        "label",
        "public_metadata",
    ],
)

SESSION = resource(
    "session",
    Session,
    attributes=[
        "created_at",
        "refreshed_at",
        "absolute_expires_at",
        "source",
        "user_agent",
        computed("current", _is_current, bool),
    ],
)
