"""Lists the backups that this shop has made."""

from typing import Any

from shop.base.ids import new_id
from shop.db.pool import Database
from shop.models.backups.manifests import Manifest
from shop.queries.backups import backups as queries


def result_values(manifest: Manifest) -> dict[str, Any]:
    """Returns what the list shows of a complete backup."""
    return {
        "new_size": manifest.size,
        "new_image_count": manifest.image_count,
        "new_missing_count": len(manifest.missing_media),
        "new_has_keys": manifest.has_keys,
    }


async def record_backup(database: Database, place: str, folder: str, manifest: Manifest) -> None:
    """Adds a backup of the command line to the list, unless the database is older than the list."""
    if await queries.has_table(database.session()):
        await queries.record_backup(
            database.session(),
            new_id(),
            place=place,
            folder=folder,
            started_at=manifest.started_at,
            **result_values(manifest),
        )
