"""Platform resources of customers: users, addresses, countries and states."""

from decimal import Decimal
from typing import Any

from shop.actions.customers import users
from shop.actions.records import ResourceActions
from shop.base.money import currency_digits
from shop.jsonapi.resource import RenderContext, computed, many, one, resource
from shop.models.access.users import Customer
from shop.models.customers.addresses import Address
from shop.models.customers.record_inputs import AddressRecordInput, UserInput
from shop.models.setup.countries import Country, State, countries, states
from shop.platform.collection import Collection, kinds
from shop.queries.records import Records


def _sums(name: str) -> Any:
    """Returns a reader of amounts by currency, with two decimals as in Spree."""

    def read(user: Customer, _context: RenderContext) -> list[dict[str, str]]:
        return [
            {"currency": entry["currency"], "amount": _decimal(entry[name], entry["currency"])}
            for entry in user.spending
        ]

    return read


def _credits(user: Customer, _context: RenderContext) -> list[dict[str, str]]:
    return [
        {"currency": left["currency"], "amount": _decimal(left["amount"], left["currency"])} for left in user.credits
    ]


def _decimal(minor: float, currency: str) -> str:
    return f"{Decimal(str(minor)).scaleb(-currency_digits(currency)):.2f}"


_METADATA = ("public_metadata", "private_metadata")
_STAMPS = ("created_at", "updated_at")

USER = resource(
    "user",
    Customer,
    attributes=[
        "email",
        "first_name",
        "last_name",
        "selected_locale",
        *_STAMPS,
        *_METADATA,
        "verified_at",
        "disabled_at",
        computed("average_order_value", _sums("average"), list[dict[str, str]]),
        computed("lifetime_value", _sums("total"), list[dict[str, str]]),
        computed("store_credits", _credits, list[dict[str, str]]),
    ],
    relations=[one("bill_address", "address"), one("ship_address", "address"), many("addresses", "address")],
)
USERS = Collection(
    path="users",
    access="customers",
    resource=USER,
    actions=users.USER,
    writable=kinds(UserInput),
    required=("email",),
    filters=("email", "first_name", "last_name", "verified_at", "disabled_at"),
)

_ADDRESS_TEXTS = (
    "firstname",
    "lastname",
    "address1",
    "address2",
    "city",
    "zipcode",
    "phone",
    "state_name",
    "alternative_phone",
    "company",
    "label",
)
ADDRESS = resource(
    "address",
    Address,
    attributes=[
        *_ADDRESS_TEXTS,
        computed("full_name", lambda address, _context: f"{address.firstname} {address.lastname}"),
        *_STAMPS,
        "deleted_at",
        *_METADATA,
    ],
    relations=[one("country", "country"), one("state", "state"), one("user", "user")],
)
ADDRESSES = Collection(
    path="addresses",
    access="customers",
    resource=ADDRESS,
    actions=users.ADDRESS,
    writable=kinds(AddressRecordInput),
    create_only=("user_id",),
    filters=(*_ADDRESS_TEXTS, "full_name"),
)

COUNTRY = resource(
    "country",
    Country,
    attributes=["iso_name", "iso", "iso3", "name", "numcode", "states_required", "zipcode_required", *_STAMPS],
    relations=[many("states", "state")],
)
COUNTRIES = Collection(
    path="countries",
    access="settings",
    resource=COUNTRY,
    actions=ResourceActions("country", Records(table=countries, row=Country)),
    filters=("name", "iso", "iso3", "iso_name", "numcode", "states_required", "zipcode_required"),
    sorts=("name", "iso", "iso3", "numcode"),
    order="name",
    find_by=("id", "iso"),
)
STATE = resource("state", State, attributes=["name", "abbr", *_STAMPS], relations=[one("country", "country")])
STATES = Collection(
    path="states",
    access="settings",
    resource=STATE,
    actions=ResourceActions("state", Records(table=states, row=State)),
    filters=("name", "abbr"),
    sorts=("name", "abbr"),
    order="name",
)
