"""Generates the second table of `docs/credentials.md`: what an order token may do without a bearer token."""

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


_BOOK = "name an address of the address book"
_CARD = "choose a saved card"
_LIMITED_COUPON = "apply a coupon code that counts each customer's uses"
_NEW_PAYMENT = "pay by check or with a card that is typed in"
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
    TokenOperation("PATCH", "/cart/associate", "give the cart to a user", USER, USER),
    TokenOperation("PATCH", "/checkout", "begin the checkout"),
    TokenOperation("PATCH", "/checkout", "type special instructions"),
    TokenOperation("PATCH", "/checkout", "change the e-mail", OK, OK_REMOVES_PAYMENT),
    TokenOperation("PATCH", "/checkout", "type an address", OK, OK_REMOVES_PAYMENT),
    TokenOperation("PATCH", "/checkout", f"{_BOOK} (`bill_address_id`)", OK_IGNORED, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_BOOK} (`ship_address_attributes.id`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_CARD} (`existing_card`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", f"{_CARD} (`payments_attributes`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout", "pay by check (`payments_attributes`)"),
    TokenOperation("PATCH", "/checkout", "choose a shipping rate (`shipments_attributes`)"),
    TokenOperation("PATCH", "/checkout", "apply a coupon code (`coupon_code`)"),
    TokenOperation("PATCH", "/checkout", f"{_LIMITED_COUPON} (`coupon_code`)", OK, OWNER_REQUIRED),
    TokenOperation("PUT", "/checkout", "type special instructions"),
    TokenOperation("PUT", "/checkout", f"{_CARD} (`existing_card`)", INVALID, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/next", "go to the next step"),
    TokenOperation("PATCH", "/checkout/advance", "go as far as possible"),
    TokenOperation("PATCH", "/checkout/select_shipping_method", "choose a shipping method"),
    TokenOperation("POST", "/checkout/create_payment", _NEW_PAYMENT),
    TokenOperation("POST", "/checkout/create_payment", _CARD, INVALID, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/add_store_credit", "pay with store credit", INVALID, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/remove_store_credit", "pay without store credit", OK, OWNER_REQUIRED),
    TokenOperation("POST", "/checkout/validate_order_for_payment", "check the cart before payment"),
    TokenOperation("GET", "/checkout/shipping_rates", "list shipping rates"),
    TokenOperation("GET", "/checkout/payment_methods", "list payment methods"),
    TokenOperation("GET", "/checkout/requirements", "list what is missing"),
    TokenOperation("PATCH", "/checkout/complete", f"complete, to {_NEW_PAYMENT}"),
    TokenOperation("PATCH", "/checkout/complete", "complete with the owner's card", NEVER, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/complete", "complete with the owner's store credit", NEVER, OWNER_REQUIRED),
    TokenOperation("PATCH", "/checkout/complete", "repeat the completion"),
    TokenOperation("GET", "/order_status/{number}", "read the completed order"),
    TokenOperation("GET", "/order_status/{number}", "read the completed order with `include=user`", OK, OK_HIDDEN),
)
_ABOUT = """
## An order token alone

What an order token may do without a bearer token, on a guest's cart and on a cart that belongs to a user. On an owned
cart it reads and changes lines, coupons and what was typed into the cart. It never reads the owner's account (e-mail,
addresses, cards, credit) and never spends from it. What the owner's bearer token put into the cart, by `associate` or
in the checkout, is read with the cart's token like the rest of the cart. A bearer token of another user beside the
order token adds nothing; one that is expired or revoked is 401 on every route. A test walks this table over HTTP.

| answer | meaning |
|---|---|
| `ok` | done |
| `owner_required` | 401 with the code `owner_required`: send the owner's bearer token |
| `ok, removes payment choices` | done; the owner's card and credit are not chosen any more, `meta.warnings` says so |
| `ok, hidden` | done; the owner's account and cards are left out |
| `ok, ignored` | done without it: a guest's cart has no address book |
| `422` | not acceptable: a guest's cart has no account |
| `401` | associate takes a user's bearer token |
| `never` | cannot happen |

`associate` replaces the order token. The one before is 404 from then on, on every route; only `associate` itself,
repeated by the same user within ten minutes, answers it with the same cart. After completion the token opens
`order_status` and repeats `complete` for `SHOP_ORDER_STATUS_TTL` seconds, and then nothing.

"""


def order_token_section(routes: Sequence[Route]) -> str:
    """Returns the section as Markdown; raises CannotStart if a cart or checkout route has no row."""
    paths = {(each.method, _BASE + each.path) for each in OPERATIONS}
    for route in routes:
        is_cart = route.who == "order token or user" or route.path == f"{_BASE}/cart/associate"
        if is_cart and (route.method, route.path) not in paths:
            raise CannotStart(f"{route.method} {route.path} has no row in cli/order_token_table.py.")
    head = ["method", "address", "operation", "guest's cart", "owned cart"]
    rows = [head, ["---"] * len(head)]
    rows += [[each.method, f"`{_BASE}{each.path}`", each.what, each.guest, each.owned] for each in OPERATIONS]
    return _ABOUT + "".join(f"| {' | '.join(row)} |\n" for row in rows)
