"""The routes of sign-in and the account pages."""

from shop.website.account import addresses, orders, overview, payments, sessions, sign_in, wishlist_items, wishlists
from shop.website.account.access import require_user, require_user_form
from shop.website.route_builder import PageRoute, get, post
from shop.website.visits import Page, form, page


def _get(path: str, handler: Page, summary: str) -> PageRoute:
    return get(f"/account{path}", page(require_user(handler)), summary)


def _post(path: str, handler: Page, summary: str) -> PageRoute:
    return post(f"/account{path}", form(require_user_form(handler)), summary)


ACCOUNT_ROUTES: tuple[PageRoute, ...] = (
    get("/sign-in", page(sign_in.show), "Sign-in page"),
    post("/sign-in", form(sign_in.send_code), "Send a sign-in code"),
    post("/sign-in/code", form(sign_in.exchange_code), "Sign in with a code"),
    post("/sign-out", form(sign_in.sign_out), "Sign out"),
    get("/wishlists/{token}", page(wishlist_items.show_shared), "Shared wishlist"),
    _get("", overview.show, "Account page"),
    _get("/orders", orders.show_list, "Orders of the customer"),
    _get("/addresses", addresses.show_list, "Addresses of the customer"),
    _post("/addresses", addresses.create, "Add an address"),
    _get("/addresses/new", addresses.show_new, "Form for a new address"),
    _get("/addresses/{id}", addresses.show_edit, "Form to change an address"),
    _post("/addresses/{id}", addresses.update, "Change an address"),
    _post("/addresses/{id}/delete", addresses.remove, "Delete an address"),
    _post("/addresses/{id}/default", addresses.make_default, "Choose a default address"),
    _get("/wishlists", wishlists.show_lists, "Wishlists of the customer"),
    _post("/wishlists", wishlists.create, "Create a wishlist"),
    _post("/wishlists/items", wishlists.add_item, "Add a product to the default wishlist"),
    _get("/wishlists/{token}", wishlists.show_list, "Wishlist of the customer"),
    _post("/wishlists/{token}", wishlists.update, "Change a wishlist"),
    _post("/wishlists/{token}/delete", wishlists.delete, "Delete a wishlist"),
    _post("/wishlists/{token}/items/{id}/remove", wishlists.remove_item, "Remove a wished item"),
    _post("/wishlists/{token}/items/{id}/notify", wishlists.notify_item, "Ask for an e-mail when it is back in stock"),
    _post("/wishlists/{token}/items/{id}/move", wishlists.move_item, "Move a wished item to the cart"),
    _get("/cards", payments.show_cards, "Saved cards of the customer"),
    _post("/cards/{id}/delete", payments.remove_card, "Delete a saved card"),
    _get("/store-credit", payments.show_store_credit, "Store credit of the customer"),
    _get("/sessions", sessions.show_list, "Devices of the customer"),
    _post("/sessions/others/end", sessions.end_others, "Sign out all other devices"),
    _post("/sessions/{id}/end", sessions.end, "Sign out a device"),
    _get("/profile", overview.show_profile, "Profile of the customer"),
    _post("/profile", overview.save_profile, "Change the profile"),
    _get("/export", overview.export, "Personal data of the customer as JSON"),
)
