"""What the platform shows of prices: what anybody pays, lists for some customers, and who these are."""

from decimal import Decimal

from shop.actions import pricing
from shop.actions.before import holding_products
from shop.actions.records import Noun, plain
from shop.jsonapi.resource import many, money, one, resource
from shop.models.catalog import ListedEntry
from shop.models.people import CustomerGroup, CustomerGroupMember, customer_group_members, customer_groups
from shop.models.prices import (
    Price,
    PriceList,
    PriceListEntry,
    PriceListGroup,
    PriceListUser,
    price_list_entries,
    price_list_groups,
    price_list_users,
    price_lists,
    prices,
)
from shop.platform.collection import Collection, kinds
from shop.platform.resources.catalog import decimal_text
from shop.queries.catalog_columns import entry_currency
from shop.queries.records import Records

_STAMPS = ("created_at", "updated_at")

PRICE = resource(
    "price",
    Price,
    attributes=["currency", money("amount"), money("compare_at_amount"), *_STAMPS],
    relations=[one("variant", "variant")],
)
_PRICE_RECORDS = Records(table=prices, row=Price, amounts=frozenset({"amount", "compare_at_amount"}))
PRICES = Collection(
    path="prices",
    resource=PRICE,
    noun=Noun(
        "price",
        _PRICE_RECORDS,
        pricing.create_price,
        pricing.update_price,
        pricing.delete_price,
        holding_products(_PRICE_RECORDS),
    ),
    writable=kinds(Price, "variant_id", "currency") | {"amount": Decimal, "compare_at_amount": Decimal | None},
    required=("variant_id", "currency", "amount"),
    once=("variant_id", "currency"),
    filters=("variant_id", "currency", "amount"),
)

PRICE_LIST = resource(
    "price_list",
    PriceList,
    attributes=[
        "name",
        "currency",
        "priority",
        decimal_text("percent_off"),
        "starts_at",
        "ends_at",
        "active",
        *_STAMPS,
    ],
    relations=[many("users", "user"), many("customer_groups", "customer_group")],
)
_LIST_RECORDS = Records(table=price_lists, row=PriceList)
PRICE_LISTS = Collection(
    path="price_lists",
    resource=PRICE_LIST,
    noun=Noun("price_list", _LIST_RECORDS, pricing.create_list, pricing.update_list, plain(_LIST_RECORDS)["delete"]),
    writable=kinds(PriceList, "name", "currency", "priority", "percent_off", "starts_at", "ends_at", "active"),
    required=("name", "currency"),
    once=("currency",),
    filters=("name", "currency", "priority", "active", "starts_at", "ends_at"),
)
PRICE_LIST_ENTRY = resource(
    "price_list_entry",
    ListedEntry,
    attributes=["currency", money("amount"), "min_quantity", *_STAMPS],
    relations=[one("price_list", "price_list"), one("variant", "variant")],
)
_ENTRY_RECORDS = Records(
    table=price_list_entries,
    row=ListedEntry,
    extras={"currency": entry_currency(price_list_entries)},
    amounts=frozenset({"amount"}),
)
PRICE_LIST_ENTRIES = Collection(
    path="price_list_entries",
    resource=PRICE_LIST_ENTRY,
    noun=Noun(
        "price_list_entry",
        _ENTRY_RECORDS,
        pricing.create_entry,
        pricing.update_entry,
        plain(_ENTRY_RECORDS)["delete"],
    ),
    writable=kinds(PriceListEntry, "price_list_id", "variant_id", "min_quantity") | {"amount": Decimal},
    required=("price_list_id", "variant_id", "amount"),
    once=("price_list_id", "variant_id"),
    filters=("price_list_id", "variant_id", "min_quantity", "amount"),
)

PRICE_LIST_USER = resource(
    "price_list_user",
    PriceListUser,
    attributes=[*_STAMPS],
    relations=[one("price_list", "price_list"), one("user", "user")],
)
_LIST_USER_RECORDS = Records(table=price_list_users, row=PriceListUser)
PRICE_LIST_USERS = Collection(
    path="price_list_users",
    resource=PRICE_LIST_USER,
    noun=Noun(
        "price_list_user",
        _LIST_USER_RECORDS,
        plain(_LIST_USER_RECORDS)["create"],
        None,
        plain(_LIST_USER_RECORDS)["delete"],
    ),
    writable=kinds(PriceListUser, "price_list_id", "user_id"),
    required=("price_list_id", "user_id"),
    filters=("price_list_id", "user_id"),
)
PRICE_LIST_GROUP = resource(
    "price_list_group",
    PriceListGroup,
    attributes=[*_STAMPS],
    relations=[one("price_list", "price_list"), one("customer_group", "customer_group")],
)
_LIST_GROUP_RECORDS = Records(table=price_list_groups, row=PriceListGroup)
PRICE_LIST_GROUPS = Collection(
    path="price_list_groups",
    resource=PRICE_LIST_GROUP,
    noun=Noun(
        "price_list_group",
        _LIST_GROUP_RECORDS,
        plain(_LIST_GROUP_RECORDS)["create"],
        None,
        plain(_LIST_GROUP_RECORDS)["delete"],
    ),
    writable=kinds(PriceListGroup, "price_list_id", "customer_group_id"),
    required=("price_list_id", "customer_group_id"),
    filters=("price_list_id", "customer_group_id"),
)
CUSTOMER_GROUP = resource(
    "customer_group",
    CustomerGroup,
    attributes=["name", "description", *_STAMPS],
    relations=[many("users", "user"), many("price_lists", "price_list")],
)
_GROUP_RECORDS = Records(table=customer_groups, row=CustomerGroup)
CUSTOMER_GROUPS = Collection(
    path="customer_groups",
    resource=CUSTOMER_GROUP,
    noun=Noun("customer_group", _GROUP_RECORDS, **plain(_GROUP_RECORDS)),
    writable=kinds(CustomerGroup, "name", "description"),
    required=("name",),
    filters=("name",),
)
CUSTOMER_GROUP_MEMBER = resource(
    "customer_group_member",
    CustomerGroupMember,
    attributes=[*_STAMPS],
    relations=[one("customer_group", "customer_group"), one("user", "user")],
)
_MEMBER_RECORDS = Records(table=customer_group_members, row=CustomerGroupMember)
CUSTOMER_GROUP_MEMBERS = Collection(
    path="customer_group_members",
    resource=CUSTOMER_GROUP_MEMBER,
    noun=Noun(
        "customer_group_member",
        _MEMBER_RECORDS,
        plain(_MEMBER_RECORDS)["create"],
        None,
        plain(_MEMBER_RECORDS)["delete"],
    ),
    writable=kinds(CustomerGroupMember, "customer_group_id", "user_id"),
    required=("customer_group_id", "user_id"),
    filters=("customer_group_id", "user_id"),
)
