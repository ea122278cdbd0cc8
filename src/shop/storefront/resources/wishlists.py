"""Wishlist resources. The owner is not exposed because a public list is visible to anyone."""

from shop.jsonapi.resource import many, money, one, resource
from shop.models.customers.wishlists import WishedItemView, WishlistView

WISHLIST = resource(
    "wishlist",
    WishlistView,
    attributes=["token", "name", "is_private", "is_default", "variant_included"],
    relations=[many("wished_items", "wished_item")],
)
WISHED_ITEM = resource(
    "wished_item",
    WishedItemView,
    attributes=["quantity", money("price"), money("total"), "notify_when_in_stock"],
    relations=[one("variant", "variant")],
)
