"""What shoppers wish for: lists with a name, and the variants on them.

A list is reached by its token. It is kept as it is and not as a digest: the owner is shown it again and again, to pass
it on, and it opens nothing by itself. Of a public list it is the address; of a private one it is worth nothing without
the owner's own token.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.catalog.products import variants


class Wishlist(Row, frozen=True, kw_only=True):
    """A user's list; a private one is seen by its owner alone."""

    id: UUID
    user_id: UUID
    token: str
    name: str
    is_private: bool = True
    is_default: bool = False
    created_at: datetime
    updated_at: datetime


class WishedItem(Row, frozen=True, kw_only=True):
    """So many of a variant. It stays on its list when the variant is not sold any more."""

    id: UUID
    wishlist_id: UUID
    variant_id: UUID
    quantity: int = 1
    created_at: datetime
    updated_at: datetime


class SeenWishlist(Wishlist, frozen=True, kw_only=True):
    """A list, and whether the variant that was asked about stands on it."""

    variant_included: bool = False


class PricedItem(WishedItem, frozen=True, kw_only=True):
    """With what it costs, in minor units of `currency`; nothing where it cannot be bought."""

    currency: str
    price: int | None
    total: int | None = None

    def __post_init__(self) -> None:
        # Not by the database: the largest price times the largest quantity does not fit into its numbers.
        total = None if self.price is None else self.price * self.quantity
        msgspec.structs.force_setattr(self, "total", total)


class SeenItem(PricedItem, frozen=True, kw_only=True):
    """As whoever looks sees it, at their own price; and whether its variant was taken away for good."""

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
    index("ix_wished_items_created_at", "created_at", "id"),
    check("quantity_is_positive", "quantity > 0"),
)
