"""Statements for images, and for image files without a row."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, bindparam, delete, func, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.catalog.images import Image, images, loose_files
from shop.models.catalog.products import products, variants
from shop.models.catalog.taxons import Taxon, taxons

_ID = PG_UUID(as_uuid=True)
_id = bindparam("id", type_=_ID)


def _first(record: Any) -> UUID:
    return cast(UUID, record[0])


_FIND = statement(select(images).where(images.c.id == _id), into(Image))
# Locked while an image is appended: two concurrent inserts would get the same position.
_LOCK_PRODUCT = statement(
    select(products.c.id).where(products.c.id == _id, products.c.deleted_at.is_(None)).with_for_update(), _first
)
_VARIANTS_PRODUCT = statement(
    select(variants.c.product_id).where(variants.c.id == _id, variants.c.deleted_at.is_(None)), _first
)
_behind = (
    select(func.coalesce(func.max(images.c.position), 0) + 1)
    .where(images.c.product_id == bindparam("product_id", type_=_ID))
    .scalar_subquery()
)
# As in Spree: an image without a variant belongs to the product's master.
_master = (
    select(variants.c.id)
    .where(variants.c.product_id == bindparam("product_id", type_=_ID), variants.c.is_master)
    .scalar_subquery()
)
_MASTER = statement(select(_master), _first)
_INSERT = statement(
    insert(images)
    .values(
        id=bindparam("id"),
        product_id=bindparam("product_id"),
        variant_id=func.coalesce(bindparam("variant_id", type_=_ID), _master),
        taxon_id=bindparam("taxon_id"),
        shop_id=bindparam("shop_id"),
        alt=bindparam("alt"),
        position=func.coalesce(bindparam("position", type_=BigInteger), _behind),
        width=bindparam("width"),
        height=bindparam("height"),
        created_at=func.now(),
        updated_at=func.now(),
    )
    .returning(images.c.id),
    _first,
)
_NO_OWNER: dict[str, Any] = {"product_id": None, "variant_id": None, "taxon_id": None, "shop_id": None}
_OF_PRODUCT = statement(
    select(images)
    .where(images.c.product_id == bindparam("product_id", type_=_ID))
    .order_by(images.c.position, images.c.id),
    into(Image),
)
_OF_TAXON = statement(select(images).where(images.c.taxon_id == bindparam("taxon_id", type_=_ID)), into(Image))
_DELETE = statement(delete(images).where(images.c.id == _id).returning(images), into(Image))
_RECORD_LOOSE = statement(
    insert(loose_files).values(image_id=bindparam("id"), created_at=func.now()).returning(loose_files.c.image_id),
    _first,
)
_RECORD_SUBTREE_LOOSE = statement(
    insert(loose_files)
    .from_select(
        ["image_id", "created_at"],
        select(images.c.id, func.now())
        .join(taxons, taxons.c.id == images.c.taxon_id)
        .where(
            taxons.c.taxonomy_id == bindparam("taxonomy_id", type_=_ID),
            taxons.c.lft >= bindparam("lft", type_=BigInteger),
            taxons.c.rgt <= bindparam("rgt", type_=BigInteger),
        ),
    )
    .returning(loose_files.c.image_id),
    _first,
)
_DELETE_LOOSE = statement(
    delete(loose_files).where(loose_files.c.image_id == _id).returning(loose_files.c.image_id), _first
)
_LIST_LOOSE = statement(
    select(loose_files.c.image_id)
    .where(loose_files.c.created_at < func.now() - timedelta(hours=1))
    .order_by(loose_files.c.created_at)
    .limit(bindparam("most", type_=BigInteger)),
    _first,
)


async def find_image(db: DatabaseSession, image_id: UUID) -> Image | None:
    return await db.one(_FIND, id=image_id)


async def list_images(db: DatabaseSession, product_id: UUID) -> list[Image]:
    """Returns the images of a product by position."""
    return await db.all(_OF_PRODUCT, product_id=product_id)


async def lock_product(db: DatabaseSession, product_id: UUID) -> UUID | None:
    return await db.one(_LOCK_PRODUCT, id=product_id)


async def find_variants_product(db: DatabaseSession, variant_id: UUID) -> UUID | None:
    return await db.one(_VARIANTS_PRODUCT, id=variant_id)


async def get_master_id(db: DatabaseSession, product_id: UUID) -> UUID | None:
    return await db.one(_MASTER, product_id=product_id)


async def insert_image(db: DatabaseSession, **values: Any) -> None:
    """Inserts an image; by default after the product's other images, and for the master."""
    await db.one(_INSERT, **{**_NO_OWNER, **values})


async def find_taxon_image(db: DatabaseSession, taxon_id: UUID) -> Image | None:
    return await db.one(_OF_TAXON, taxon_id=taxon_id)


async def delete_image(db: DatabaseSession, image_id: UUID) -> Image | None:
    """Deletes a row and returns it."""
    return await db.one(_DELETE, id=image_id)


async def record_loose_files(db: DatabaseSession, image_id: UUID) -> None:
    """Records that the files of this image are about to be written or removed."""
    await db.one(_RECORD_LOOSE, id=image_id)


async def record_subtree_loose_files(db: DatabaseSession, taxon: Taxon) -> None:
    """Records the image files of a taxon and its descendants, which are about to be deleted."""
    await db.all(_RECORD_SUBTREE_LOOSE, taxonomy_id=taxon.taxonomy_id, lft=taxon.lft, rgt=taxon.rgt)


async def delete_loose_record(db: DatabaseSession, image_id: UUID) -> None:
    await db.one(_DELETE_LOOSE, id=image_id)


async def list_loose_files(db: DatabaseSession, most: int) -> list[UUID]:
    """Returns image ids recorded more than an hour ago, for which no write can still be running."""
    return await db.all(_LIST_LOOSE, most=most)
