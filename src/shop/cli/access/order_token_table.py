"""Generates the second table of `docs/generated/credentials.md`: what an order token may do without a bearer token."""

from collections.abc import Sequence

import msgspec

from shop.base.errors import CannotStart
from shop.web.endpoint import Route

OK, OWNER_REQUIRED, OK_REMOVES_PAYMENT, OK_HIDDEN, INVALID, OK_IGNORED, USER, NEVER = (
    "ok",
    "owner_required",
    "ok, removes payment choices",
    "ok, hidden",
    "422",
    "ok, ignored",
    "401",
    "never",
)
_BASE = "/api/v2/storefront"


class TokenOperation(msgspec.Struct, frozen=True):
    """One operation and its response to an order token alone, on a guest cart and on a user's cart."""

    method: str
    path: str
    what: str
    guest: str = OK
    owned: str = OK

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}: {self.what}"


_BOOK = "use an address from the address book"
_CARD = "choose a saved card"
_LIMITED_COUPON = "apply a coupon code that counts each customer's uses"
_NEW_PAYMENT = "pay by check or with a new card"
OPERATIONS = (
    TokenOperation("POST", "/cart", "return the cart"),
    TokenOperation("GET", "/cart", "read the cart"),
    TokenOperation("GET", "/cart", "read the cart with `include=user`", OK, OK_HIDDEN),
    TokenOperation("GET", "/cart", "read the cart with `include=payments.source`", OK, OK_HIDDEN),
    TokenOperation("DELETE", "/cart", "delete the cart", OK, OWNER_REQUIRED),
    TokenOperation("POST", "/cart/add_item", "add a line"),
    TokenOperation("POST", "/cart/add_items", "add lines"),
    TokenOperation("PATCH", "/cart/set_quantity", "change a quantity"),
    TokenOperation("DELETE", "/cart/remove_line_item/{id}", "remove a line"),
    TokenOperation("PATCH", "/cart/empty", "remove all lines"),
    TokenOperation("PATCH", "/cart/change_currency", "change the currency"),
    TokenOperation("PATCH", "/cart/apply_coupon_code", "apply a coupon code"),
    TokenOperation("PATCH", "/cart/apply_coupon_code", _LIMITED_COUPON, OK, OWNER_REQUIRED),
    TokenOperation("DELETE", "/cart/remove_coupon_code", "remove all coupon codes"),
    TokenOperation("DELETE", "/cart/remove_coupon_code/{code}", "remove a coupon code"),
    TokenOperation("GET", "/cart/estimate_shipping_rates", "estimate shipping"),
    TokenOperation("PATCH", "/cart/associate", "associate the cart with a user", USER, USER),
    TokenOperation("PATCH", "/checkout", "begin the checkout"),
    TokenOperation("PATCH", "/checkout", "enter special instructions"),
    TokenOperation("PATCH", "/checkout", "change the e-mail", OK, OK_REMOVES_PAYMENT),
    TokenOperation("PATCH", "/checkout", "enter an address", OK, OK_REMOVES_PAYMENT),
    TokenOperation("PATCH", "/checkout", f"{_BOOK} (`bill_address_id`)", OK_IGNORED, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_BOOK} (`ship_address_attributes.id`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_CARD} (`existing_card`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_CARD} (`payments_attributes`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", "pay by check (`payments_attributes`)"),
    TokenOperation("PATCH", "/checkout", "choose a shipping rate (`shipments_attributes`)"),
    TokenOperation("PATCH", "/checkout", "apply a coupon code (`coupon_code`)"),
    TokenOperation("PATCH", "/checkout", f"{_LIMITED_COUPON} (`coupon_code`)", OK, OWNER_REQUIRED),
    TokenOperation("PUT", "/checkout", "enter special instructions"),
    TokenOperation("PUT", "/checkout", f"{_CARD} (`existing_card`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/next", "advance to the next step"),
    TokenOperation("PATCH", "/checkout/advance", "advance as far as possible"),
    TokenOperation("PATCH", "/checkout/select_shipping_method", "choose a shipping method"),
    TokenOperation("POST", "/checkout/create_payment", _NEW_PAYMENT),
    TokenOperation("POST", "/checkout/create_payment", _CARD, INVALID, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/add_store_credit", "pay with store credit", INVALID, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/remove_store_credit", "pay without store credit", OK, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/validate_order_for_payment", "check the cart before payment"),
    TokenOperation("GET", "/checkout/shipping_rates", "list shipping rates"),
    TokenOperation("GET", "/checkout/payment_methods", "list payment methods"),
    TokenOperation("GET", "/checkout/requirements", "list missing requirements"),
    TokenOperation("PATCH", "/checkout/complete", f"complete, to {_NEW_PAYMENT}"),
    TokenOperation("PATCH", "/checkout/complete", "complete with the owner's card", NEVER, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/complete", "complete with the owner's store credit", NEVER, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/complete", "repeat the completion"),
    TokenOperation("GET", "/order_status/{number}", "read the completed order"),
    TokenOperation("GET", "/order_status/{number}", "read the completed order with `include=user`", OK, OK_HIDDEN),
)
_ABOUT = """
## An order token alone

The operations that an order token permits without a bearer token, on a guest's cart and on a cart that belongs to a
user. On an owned cart, the token permits reading and changing lines, coupons and entered values. It never gives access
to the owner's account (e-mail, addresses, cards, credit), and never spends from it. Data that the owner added to the
cart with a bearer token, by `associate` or in the checkout, is readable with the order token like the rest of the cart.
A bearer token of another user grants no additional access; an expired or revoked one is 401 on every route. A test
checks this table over HTTP.

| response | meaning |
|---|---|
| `ok` | success |
| `owner_required` | 401 with the code `owner_required`: send the owner's bearer token |
| `ok, removes payment choices` | success; the owner's card and credit are deselected; `meta.warnings` has a warning |
| `ok, hidden` | success; the owner's account and cards are omitted |
| `ok, ignored` | success; the value is ignored, because a guest has no address book |
| `422` | invalid, because a guest has no account |
| `401` | `associate` requires a user's bearer token |
| `never` | cannot occur |

`associate` replaces the order token. The previous token is then 404 on every route, except that the same user can
repeat `associate` with it for ten minutes and gets the same cart. After completion, the token permits `order_status`
and repeated `complete` requests for `SHOP_ORDER_STATUS_TTL` seconds.

"""


def order_token_section(routes: Sequence[Route]) -> str:
    """Returns the section as Markdown; raises CannotStart if a cart or checkout route has no row."""
    paths = {(each.method, _BASE + each.path) for each in OPERATIONS}
    for route in routes:
        is_cart = route.who == "order token or user" or route.path == f"{_BASE}/cart/associate"
        if is_cart and (route.method, route.path) not in paths:
            raise CannotStart(f"{route.method} {route.path} has no row in cli/access/order_token_table.py.")
    head = ["method", "address", "operation", "guest's cart", "owned cart"]
    rows = [head, ["---"] * len(head)]
    rows += [[each.method, f"`{_BASE}{each.path}`", each.what, each.guest, each.owned] for each in OPERATIONS]
    return _ABOUT + "".join(f"| {' | '.join(row)} |\n" for row in rows)
