"""Platform resources of prices: base prices, price lists, and the customers and groups they apply to."""

from collections.abc import Callable

from shop.actions.catalog import resources
from shop.base.money import money_text
from shop.jsonapi.resource import RenderContext, computed, many, money, one, resource
from shop.models.access.users import CustomerGroup, CustomerGroupMember
from shop.models.catalog.inputs import PriceInput, PriceListEntryInput, PriceListInput
from shop.models.catalog.prices import Price, PriceList, PriceListGroup, PriceListUser
from shop.models.catalog.storefront import PlatformPriceListEntry
from shop.platform.collection import Collection, kinds
from shop.platform.resources.catalog import decimal_text

_STAMPS = ("created_at", "updated_at")


def _text_of(name: str) -> Callable[[Price, RenderContext], str | None]:
    """Returns a reader of an amount's display text, for Spree's second name of it."""

    def read(price: Price, render_context: RenderContext) -> str | None:
        minor: int | None = getattr(price, name)
        return None if minor is None else money_text(price.currency, render_context.locale)(minor)

    return read


PRICE = resource(
    "price",
    Price,
    attributes=[
        "currency",
        money("amount"),
        money("compare_at_amount"),
        computed("display_price", _text_of("amount")),
        computed("display_compare_at_price", _text_of("compare_at_amount"), str | None),
        *_STAMPS,
    ],
    relations=[one("variant", "variant")],
)
PRICES = Collection(
    path="prices",
    access="products",
    resource=PRICE,
    actions=resources.PRICE,
    writable=kinds(PriceInput),
    required=("variant_id", "currency", "amount"),
    create_only=("variant_id", "currency"),
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
PRICE_LISTS = Collection(
    path="price_lists",
    access="products",
    resource=PRICE_LIST,
    actions=resources.PRICE_LIST,
    writable=kinds(PriceListInput),
    required=("name", "currency"),
    create_only=("currency",),
    filters=("name", "currency", "priority", "active", "starts_at", "ends_at"),
)
PRICE_LIST_ENTRY = resource(
    "price_list_entry",
    PlatformPriceListEntry,
    attributes=["currency", money("amount"), "min_quantity", *_STAMPS],
    relations=[one("price_list", "price_list"), one("variant", "variant")],
)
PRICE_LIST_ENTRIES = Collection(
    path="price_list_entries",
    access="products",
    resource=PRICE_LIST_ENTRY,
    actions=resources.PRICE_LIST_ENTRY,
    writable=kinds(PriceListEntryInput),
    required=("price_list_id", "variant_id", "amount"),
    create_only=("price_list_id", "variant_id"),
    filters=("price_list_id", "variant_id", "min_quantity", "amount"),
)

PRICE_LIST_USER = resource(
    "price_list_user",
    PriceListUser,
    attributes=[*_STAMPS],
    relations=[one("price_list", "price_list"), one("user", "user")],
)
PRICE_LIST_USERS = Collection(
    path="price_list_users",
    access="customers",
    resource=PRICE_LIST_USER,
    actions=resources.PRICE_LIST_USER,
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
PRICE_LIST_GROUPS = Collection(
    path="price_list_groups",
    access="customers",
    resource=PRICE_LIST_GROUP,
    actions=resources.PRICE_LIST_GROUP,
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
CUSTOMER_GROUPS = Collection(
    path="customer_groups",
    access="customers",
    resource=CUSTOMER_GROUP,
    actions=resources.CUSTOMER_GROUP,
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
CUSTOMER_GROUP_MEMBERS = Collection(
    path="customer_group_members",
    access="customers",
    resource=CUSTOMER_GROUP_MEMBER,
    actions=resources.CUSTOMER_GROUP_MEMBER,
    writable=kinds(CustomerGroupMember, "customer_group_id", "user_id"),
    required=("customer_group_id", "user_id"),
    filters=("customer_group_id", "user_id"),
)
