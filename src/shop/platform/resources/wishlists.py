"""Platform resources of wishlists and wished items."""

from shop.actions.customers import wishlists as actions
from shop.actions.records import ResourceActions, default_actions
from shop.jsonapi.resource import computed, many, money, one, resource
from shop.models.customers.inputs import WishedItemInput, WishlistInput
from shop.models.customers.wishlists import PricedWishedItem, Wishlist
from shop.platform.collection import Collection, kinds
from shop.queries.customers.records import WISHLISTS as WISHLIST_RECORDS
from shop.queries.customers.wishlists import WISHED_ITEM_RECORDS

_STAMPS = ("created_at", "updated_at")

WISHLIST = resource(
    "wishlist",
    Wishlist,
    attributes=[
        "name",
        "is_private",
        "is_default",
        "token",
        # Only the storefront API supports this check.
        computed("variant_included", lambda _wishlist, _context: False, bool),
        *_STAMPS,
    ],
    relations=[one("user", "user"), many("wished_items", "wished_item")],
)
WISHLISTS = Collection(
    path="wishlists",
    access="customers",
    resource=WISHLIST,
    actions=ResourceActions(
        "wishlist",
        WISHLIST_RECORDS,
        actions.create_list,
        actions.update_list,
        default_actions(WISHLIST_RECORDS)["delete"],
        actions.lock_wishlist_owner,
    ),
    writable=kinds(WishlistInput),
    required=("user_id", "name"),
    create_only=("user_id",),
    filters=("user_id", "name", "token", "is_private", "is_default"),
)
WISHED_ITEM = resource(
    "wished_item",
    PricedWishedItem,
    attributes=["quantity", "notify_when_in_stock", "currency", money("price"), money("total"), *_STAMPS],
    relations=[one("wishlist", "wishlist"), one("variant", "variant")],
)
WISHED_ITEMS = Collection(
    path="wished_items",
    access="customers",
    resource=WISHED_ITEM,
    actions=ResourceActions(
        "wished_item",
        WISHED_ITEM_RECORDS,
        actions.create_item,
        actions.update_item,
        default_actions(WISHED_ITEM_RECORDS)["delete"],
    ),
    writable=kinds(WishedItemInput),
    required=("wishlist_id", "variant_id"),
    create_only=("wishlist_id", "variant_id"),
    filters=("wishlist_id", "variant_id", "quantity", "notify_when_in_stock"),
)
