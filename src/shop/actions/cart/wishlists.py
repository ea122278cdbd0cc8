"""Moves wished items to the cart."""

from uuid import UUID

from shop.actions.cart import carts, line_items
from shop.actions.cart.locked_carts import Cart
from shop.actions.context import Context
from shop.actions.customers import wishlists
from shop.actions.customers.wishlists import WishlistRef
from shop.models.cart.inputs import CartInput, CartItemInput


async def move_to_cart(ctx: Context, wishlist_ref: WishlistRef, item_id: UUID) -> Cart:
    """Adds a wished item to the user's cart and removes it from the list; raises Invalid if it is not for sale."""
    item = await wishlists.get_own_item(ctx, wishlist_ref, item_id)
    await carts.open_cart(ctx, CartInput())
    cart = await line_items.add_items(ctx, [CartItemInput(item.variant_id, item.quantity)], is_one=True)
    await wishlists.remove_items(ctx, wishlist_ref, [item.id])
    return cart
