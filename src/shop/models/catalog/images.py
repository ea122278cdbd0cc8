"""Images; the files are in the media store."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.catalog.products import products, variants
from shop.models.catalog.taxons import taxons
from shop.models.setup.shop import shops


class Image(Row, frozen=True, kw_only=True):
    """An image of a variant, the image of a taxon, or an image of the shop, such as its logo; a product's own images
    belong to its master. Files are immutable: new content is a new image.
    """

    id: UUID
    product_id: UUID | None = None
    variant_id: UUID | None = None
    """Set for every image of a product."""
    taxon_id: UUID | None = None
    shop_id: int | None = None
    position: int = 0
    alt: str | None = None
    width: int
    height: int
    created_at: datetime
    updated_at: datetime


class LooseFiles(Row, frozen=True, kw_only=True):
    """Image files without an image row, because they are about to be written or deleted. Housekeeping deletes old ones,
    so that a crash leaves no orphaned files.
    """

    image_id: UUID
    created_at: datetime


images = table(
    "images",
    Image,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("variant_id", variants, on_delete="cascade"),
    refers("taxon_id", taxons, on_delete="cascade"),
    refers("shop_id", shops),
    index("ix_images_product_id", "product_id", "position", "id"),
    index("ix_images_variant_id", "variant_id", where="variant_id is not null"),
    index("ix_images_created_at", "created_at", "id"),
    index("uq_images_taxon_id", "taxon_id", where="taxon_id is not null", is_unique=True),
    check("one_owner", "num_nonnulls(product_id, taxon_id, shop_id) = 1"),
    check("has_a_size", "width > 0 and height > 0"),
)
loose_files = table("loose_files", LooseFiles, key("image_id"), index("ix_loose_files_created_at", "created_at"))
