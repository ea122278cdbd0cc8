"""Pictures: what is known of each file; the files themselves lie in the media store."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.products import products, variants


class Image(Row, frozen=True, kw_only=True):
    """A product's picture, or one of its variants'; kept in the widths of `styles`, none larger than what was sent."""

    id: UUID
    product_id: UUID
    variant_id: UUID | None = None
    position: int = 0
    alt: str | None = None
    width: int
    height: int
    digest: str
    """Of what was sent: in the file's address, so that the address of other content is another."""
    created_at: datetime
    updated_at: datetime


images = table(
    "images",
    Image,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("variant_id", variants, on_delete="cascade"),
    index("ix_images_product_id", "product_id", "position", "id"),
    index("ix_images_variant_id", "variant_id", where="variant_id is not null"),
    index("ix_images_created_at", "created_at", "id"),
    check("has_a_size", "width > 0 and height > 0"),
)
