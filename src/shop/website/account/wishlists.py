"""The wishlists of a customer: lists, items, sharing, and moving items to the cart."""

from typing import Any

from shop.actions.cart.wishlists import move_to_cart
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.actions.customers import wishlists
from shop.actions.customers.wishlists import WishlistRef
from shop.base.errors import Invalid
from shop.base.values import read_lookup_id
from shop.models.customers.inputs import (
    OwnWishedItemInput,
    OwnWishlistFields,
    OwnWishlistUpdateFields,
    WishedQuantityInput,
)
from shop.queries.catalog.prices import Pricing
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.account.wishlist_items import count_items, load_items
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import Visit, plain_fields

LISTS = "/account/wishlists"
_NOTICES = {
    "created": "Your wishlist is ready. Add products to it from their pages.",
    "changed": "Your changes are saved.",
    "deleted": "The wishlist is deleted.",
    "added": "Added to your wishlist.",
    "removed": "Removed from your wishlist.",
    "notified": "We will send you an e-mail when it is back in stock.",
    "not_notified": "We will not send you an e-mail about it.",
    "moved": "Moved to your cart.",
}
_CHANGEABLE: tuple[str, ...] = ("name", "is_private", "is_default")
_MOVE_ERRORS = {
    "not_purchasable": "This item is not for sale at the moment.",
    "no_price_in_currency": "This item is not for sale at the moment.",
    "out_of_stock": "There is not enough stock left of this item.",
}


async def show_lists(request: Request, ctx: Context, visit: Visit) -> Reply:
    return await _show_lists(request, ctx, visit)


async def create(request: Request, ctx: Context, visit: Visit) -> Reply:
    name = plain_fields(request).get("name", "")
    try:
        values = read_input(OwnWishlistFields, {"name": name.strip()})
        wishlist = await wishlists.make_list(ctx, await _pricing(ctx), values)
    except Invalid as error:
        return await _show_lists(request, ctx, visit, 422, name=name, errors=error.errors)
    return redirect(f"{LISTS}/{wishlist.token}?done=created")


async def add_item(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Adds a variant to the default list; product pages send this form."""
    try:
        fields = plain_fields(request)
        members: dict[str, str] = {
            name: fields[name] for name in ("variant_id", "notify_when_in_stock") if name in fields
        }
        item = read_input(OwnWishedItemInput, members)
        wishlist = await wishlists.add_to_default(ctx, await _pricing(ctx), item)
    except Invalid as error:
        sentences = error.errors.get("base") or ["This product cannot be added to a wishlist."]
        return await _show_lists(request, ctx, visit, 422, errors={"base": sentences})
    return redirect(f"{LISTS}/{wishlist.token}?done={'notified' if item.notify_when_in_stock is True else 'added'}")


async def show_list(request: Request, ctx: Context, visit: Visit) -> Reply:
    return await _show_list(request, ctx, visit)


async def update(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Changes the name, or who can see the list, or makes it the default list."""
    fields = plain_fields(request)
    members = {name: fields[name].strip() for name in _CHANGEABLE if name in fields}
    try:
        values = read_input(OwnWishlistUpdateFields, members)
        await wishlists.change_list(ctx, await _ref(request, ctx), values)
    except Invalid as error:
        return await _show_list(request, ctx, visit, 422, name=fields.get("name"), errors=error.errors)
    return redirect(f"{_path(request)}?done=changed")


async def delete(request: Request, ctx: Context, _visit: Visit) -> Reply:
    await wishlists.remove_list(ctx, await _ref(request, ctx))
    return redirect(f"{LISTS}?done=deleted")


async def remove_item(request: Request, ctx: Context, _visit: Visit) -> Reply:
    item_id = read_lookup_id(request.path_params["id"])
    await wishlists.remove_item(ctx, await _ref(request, ctx), item_id)
    return redirect(f"{_path(request)}?done=removed")


async def notify_item(request: Request, ctx: Context, _visit: Visit) -> Reply:
    """Asks for an e-mail when the item is back in stock, or cancels that."""
    item_id, is_wanted = read_lookup_id(request.path_params["id"]), plain_fields(request).get("notify") == "true"
    values = WishedQuantityInput(notify_when_in_stock=is_wanted)
    await wishlists.change_item(ctx, await _ref(request, ctx), item_id, values)
    return redirect(f"{_path(request)}?done={'notified' if is_wanted else 'not_notified'}")


async def move_item(request: Request, ctx: Context, visit: Visit) -> Reply:
    item_id = read_lookup_id(request.path_params["id"])
    try:
        cart = await move_to_cart(ctx, await _ref(request, ctx), item_id)
    except Invalid as error:
        sentence = _MOVE_ERRORS.get(error.code, "This item cannot be moved to your cart.")
        return await _show_list(request, ctx, visit, 422, errors={"base": [sentence]})
    visit.save_cart(ctx, cart.order)
    return redirect(f"{_path(request)}?done=moved")


async def _show_lists(request: Request, ctx: Context, visit: Visit, status: int = 200, **values: Any) -> Reply:
    lists = await wishlists.list_lists(ctx, await _pricing(ctx))
    page: dict[str, Any] = {
        "title": "Wishlists",
        "lists": lists,
        "counts": await count_items(ctx, lists),
        "name": "",
        "notice": notice_of(request, _NOTICES),
        **values,
    }
    return await show_page(ctx, request, visit, "account/wishlists.html", status, **page)


async def _show_list(request: Request, ctx: Context, visit: Visit, status: int = 200, **values: Any) -> Reply:
    wishlist_ref = await _ref(request, ctx)
    wishlist = await wishlists.get_own_list(ctx, wishlist_ref)
    origin = request.origin(ctx.shared.settings.public_url)
    page: dict[str, Any] = {
        "title": wishlist.name,
        "wishlist": wishlist,
        "can_edit": True,
        "items": await load_items(ctx, wishlist, wishlist_ref.pricing),
        "share_url": f"{origin}/wishlists/{wishlist.token}",
        "name": wishlist.name,
        "notice": notice_of(request, _NOTICES),
        **values,
    }
    return await show_page(ctx, request, visit, "account/wishlist.html", status, **page)


async def _pricing(ctx: Context) -> Pricing:
    return await resolve_pricing(ctx, ctx.shared.shop.currencies[0])


async def _ref(request: Request, ctx: Context) -> WishlistRef:
    return WishlistRef(request.path_params["token"], await _pricing(ctx))


def _path(request: Request) -> str:
    """Returns the path of the list; an action that succeeded has found its token, so it has only letters and digits."""
    return f"{LISTS}/{request.path_params['token']}"
