"""The names of the members of a file with a whole shop."""

import re
from collections.abc import Collection

from shop.base.errors import Malformed
from shop.models.shop_files.manifest import ShopFileManifest

MANIFEST = "manifest.json"
MEDIA_LIST = "media.jsonl"
MAX_MEDIA_BYTES = 64 << 20
_MEDIA_NAME = re.compile("([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/[1-9][0-9]{0,5}[.]webp", re.ASCII)


def records_member(table: str) -> str:
    return f"records/{table}.jsonl"


def media_member(name: str) -> str:
    return f"media/{name}"


def is_media_name(name: str) -> bool:
    """Returns whether this is the name of a file of an image; any other name could lead elsewhere."""
    return _MEDIA_NAME.fullmatch(name) is not None


def check_members(manifest: ShopFileManifest, names: Collection[str]) -> None:
    """Raises Malformed if the file has a member that its manifest does not explain."""
    tables = [*manifest.tables, *(table for extension in manifest.extensions for table in extension.tables)]
    expected_names = {MANIFEST, MEDIA_LIST, *(records_member(table.name) for table in tables)}
    for name in names:
        if name not in expected_names and not (name.startswith("media/") and is_media_name(name[len("media/") :])):
            raise Malformed(f"The file has a member that is not part of an export: {name[:80]!r}.")
