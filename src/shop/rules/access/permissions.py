"""Permissions of operators and applications: the words, the built-in roles, and the scopes of tokens.

scope words     read application    write application    reads      writes
admin           yes                 yes                  yes        alone, and granted to a write application
read            yes                 yes                  yes        no
write           no                  yes                  yes        yes
orders:read     yes                 yes                  orders     no
orders:write    no                  yes                  no         orders

`admin:read` and `admin:write` are spellings of `admin read` and `admin write`. The permissions of several words add up.
"""

from collections.abc import Collection, Mapping
from typing import Literal
from uuid import UUID

import msgspec

Act = Literal["read", "write"]

RESOURCES: Mapping[str, str] = {
    "orders": "Orders, carts, shipments, payments and documents",
    "products": "Products, categories, images and price lists",
    "stock": "Stock and stock locations",
    "promotions": "Promotions and coupon codes",
    "customers": "Customers, groups and wishlists",
    "content": "Website, pages, menus and e-mail texts",
    "settings": "Shop, taxes, shipping, payment methods and checks",
    "integrations": "API applications",
    "events": "Events and webhooks, with the data of all resources",
    "staff": "Staff and roles",
}
"""The resources that can be read and written, with their labels."""
SPECIAL: Mapping[str, str] = {
    "refunds:write": "Refund and void payments",
    "credit:write": "Grant and withdraw store credit",
    "customers:erase": "Erase personal data of customers",
    "reports:read": "Overview and reports",
    "costs:read": "Cost prices and stock value",
    "audit:read": "Audit log, with the changes of all resources",
}
"""The permissions that are not part of reading or writing a resource, with their labels."""
PERMISSIONS = (*(f"{name}:{act}" for name in RESOURCES for act in ("read", "write")), *SPECIAL)
SELF = "self"
"""The permission of routes that every operator may use: the own account, and signing out."""


class BuiltInRole(msgspec.Struct, frozen=True):
    """A role that every shop has."""

    id: UUID
    name: str
    description: str
    permissions: frozenset[str]


def _on(acts: str, *resources: str) -> frozenset[str]:
    return frozenset(f"{name}:{act}" for name in resources for act in acts.split())


def _role_id(number: int) -> UUID:
    """Returns the id that the row of a built-in role has in every shop."""
    return UUID(int=0x7000_8000_0000_0000_0000 + number)


ALL = frozenset(PERMISSIONS)
OWNER = "owner"
BUILT_IN: Mapping[str, BuiltInRole] = {
    OWNER: BuiltInRole(_role_id(1), "Owner", "Everything, including what later versions add.", ALL),
    "manager": BuiltInRole(
        _role_id(2),
        "Manager",
        "Everything except changing staff, API applications and webhooks.",
        ALL - _on("write", "staff", "integrations", "events"),
    ),
    "fulfilment": BuiltInRole(
        _role_id(3),
        "Fulfilment",
        "Ships orders and counts stock.",
        _on("read write", "orders", "stock") | _on("read", "products", "customers"),
    ),
    "support": BuiltInRole(
        _role_id(4),
        "Support",
        "Helps customers: orders, refunds and store credit.",
        _on("read write", "orders", "customers")
        | _on("read", "products", "stock", "promotions")
        | {"refunds:write", "credit:write"},
    ),
    "merchandiser": BuiltInRole(
        _role_id(5),
        "Merchandiser",
        "Products, prices, stock, promotions and content.",
        _on("read write", "products", "stock", "promotions", "content") | {"reports:read", "costs:read"},
    ),
    "accountant": BuiltInRole(
        _role_id(6),
        "Accountant",
        "Reads orders, reports, costs and the audit.",
        _on("read", "orders", "products", "stock", "promotions", "customers", "settings")
        | {"reports:read", "costs:read", "audit:read"},
    ),
    "read-only": BuiltInRole(
        _role_id(7),
        "Read-only",
        "Reads everything except costs, events and the audit.",
        _on("read", *(name for name in RESOURCES if name != "events")) | {"reports:read"},
    ),
}

OWNER_ID = BUILT_IN[OWNER].id

LEVELS = ("read", "write")
SCOPES = ("admin", "read", "write")
SCOPE_WORDS = {
    **{word: (word,) for word in SCOPES},
    "admin:read": ("admin", "read"),
    "admin:write": ("admin", "write"),
    **{word: (word,) for word in PERMISSIONS},
}
MAX_SCOPE_LENGTH = 1000
_GRANTABLE = {"read": frozenset({"admin", "read"}), "write": frozenset(SCOPES)}


def resource_permission(resource: str, act: Act) -> str:
    """Returns the permission to read or write a resource; `self` is both."""
    return SELF if resource == SELF else f"{resource}:{act}"


def describe_permission(permission: str) -> str:
    """Returns the label of a permission, like `Orders, carts, shipments, payments and documents: write`."""
    resource, _, act = permission.partition(":")
    return SPECIAL.get(permission) or f"{RESOURCES.get(resource, resource)}: {act}"


def add_reads(permissions: Collection[str]) -> frozenset[str]:
    """Adds reading to the resources that a role may write: a form is part of a page."""
    resources = {word.removesuffix(":write") for word in permissions if word.endswith(":write")}
    return frozenset(permissions) | {f"{name}:read" for name in resources if name in RESOURCES}


def is_writing(permission: str) -> bool:
    return not permission.endswith(":read")


def scope_words(scope: str) -> frozenset[str]:
    """Returns the words of a scope; none if any word is unknown."""
    parts = scope.split(" ")
    # A scope is stored as requested, so its length is limited.
    if len(scope) > MAX_SCOPE_LENGTH or len(parts) > len(SCOPE_WORDS):
        return frozenset()
    if not all(part in SCOPE_WORDS for part in parts):
        return frozenset()
    return frozenset(word for part in parts for word in SCOPE_WORDS[part])


def is_grantable(scope: str, level: str, permissions: Collection[str] = ()) -> bool:
    """Returns whether an application may request the scope. One with `permissions` may request only those."""
    words = scope_words(scope)
    grantable = frozenset(permissions) if permissions else _GRANTABLE[level] | ALL
    return bool(words) and words <= grantable and not (level == "read" and any(_is_written(word) for word in words))


def is_within(scope: str, granted_scope: str, level: str) -> bool:
    """Returns whether `scope` narrows the granted scope. Fewer words can grant more: `admin` grants more than `admin
    read`.
    """
    words = scope_words(scope)
    grows = is_allowed("write", scope, level) and not is_allowed("write", granted_scope, level)
    return bool(words) and words <= scope_words(granted_scope) and not grows


def is_allowed(act: Act, scope: str, level: str, permission: str = "", permissions: Collection[str] = ()) -> bool:
    """Returns whether a token allows `act` on a route with this permission. `permissions` are the application's."""
    # Check the level each time: a read application never writes, regardless of its token's scope.
    if not is_grantable(scope, level, permissions) or (act == "write" and level == "read"):
        return False
    return permission in scope_words(scope) or (can_read_everything if act == "read" else can_write_everything)(scope)


def can_read_everything(scope: str) -> bool:
    """Returns whether a token reads every resource, not only those that its words name."""
    return not scope_words(scope).isdisjoint(SCOPES)


def can_write_everything(scope: str) -> bool:
    """Returns whether a token of an application with write access writes every resource."""
    words = scope_words(scope)
    return "write" in words or words == {"admin"}


def _is_written(word: str) -> bool:
    return word == "write" or (word in ALL and is_writing(word))
