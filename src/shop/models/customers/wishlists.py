"""Wishlists and their items.

A list is addressed by its token. The token is stored in plain text, not as a digest, because the owner can read it at
any time to share it. It is not a credential: it identifies a public list, and a private list also requires the owner's
access token.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.catalog.products import variants


class Wishlist(Row, frozen=True, kw_only=True):
    """A wishlist of a user; only the owner can see a private one."""

    id: UUID
    user_id: UUID
    token: str
    name: str
    is_private: bool = True
    is_default: bool = False
    created_at: datetime
    updated_at: datetime


class WishedItem(Row, frozen=True, kw_only=True):
    """A quantity of a variant. It stays on the list when the variant is no longer for sale."""

    id: UUID
    wishlist_id: UUID
    variant_id: UUID
    quantity: int = 1
    notify_when_in_stock: bool = False
    """Whether the owner asked for an e-mail when it is back in stock; that e-mail resets it."""
    created_at: datetime
    updated_at: datetime


class RestockedVariant(Row, frozen=True, kw_only=True):
    """A variant that is back in stock, whose e-mails are not queued yet."""

    variant_id: UUID
    created_at: datetime


class WishlistView(Wishlist, frozen=True, kw_only=True):
    """A wishlist, and whether it contains the requested variant."""

    variant_included: bool = False


class PricedWishedItem(WishedItem, frozen=True, kw_only=True):
    """An item with its price in minor units of `currency`; `None` if it is not for sale."""

    currency: str
    price: int | None
    total: int | None = None

    def __post_init__(self) -> None:
        # Not in SQL: the largest price times the largest quantity overflows a bigint.
        total = None if self.price is None else self.price * self.quantity
        msgspec.structs.force_setattr(self, "total", total)


class WishedItemView(PricedWishedItem, frozen=True, kw_only=True):
    """An item at the viewer's price, and whether its variant is deleted."""

    is_gone: bool


wishlists = table(
    "wishlists",
    Wishlist,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    unique("token"),
    index("ix_wishlists_user_id", "user_id", "created_at"),
    index("uq_wishlists_default", "user_id", where="is_default", is_unique=True),
    index("ix_wishlists_created_at", "created_at", "id"),
)
wished_items = table(
    "wished_items",
    WishedItem,
    key("id"),
    refers("wishlist_id", wishlists, on_delete="cascade"),
    refers("variant_id", variants, on_delete="cascade"),
    unique("wishlist_id", "variant_id"),
    index("ix_wished_items_variant_id", "variant_id"),
    index("ix_wished_items_notify", "variant_id", where="notify_when_in_stock"),
    index("ix_wished_items_created_at", "created_at", "id"),
    check("quantity_is_positive", "quantity > 0"),
)
restocked_variants = table(
    "restocked_variants", RestockedVariant, key("variant_id"), refers("variant_id", variants, on_delete="cascade")
)
