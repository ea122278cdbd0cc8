"""Shops on databases of their own, for the tests of backups."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec

from shop.rules.catalog.images import styles_of
from tests.cluster import execute
from tests.db.processes import fetch_value
from tests.service import KEYS

PASSPHRASE = "correct horse battery"
SMTP = "smtp://shop:smtp-password@127.0.0.1:587"


class SourceShop(msgspec.Struct, frozen=True):
    """A shop with an image: its settings, its data directory and its database."""

    environ: Mapping[str, str]
    data_dir: Path
    url: str
    image_id: UUID

    @property
    def image_dir(self) -> Path:
        return self.data_dir / "media" / str(self.image_id)


def make_source(url: str, data_dir: Path) -> SourceShop:
    image_id = uuid4()
    directory = data_dir / "media" / str(image_id)
    directory.mkdir(parents=True)
    for style in styles_of(200, 100):
        (directory / style.name).write_bytes(b"image " * style.width)
    execute(
        url,
        "update shops set name = 'Saved'",
        f"insert into images (id, shop_id, width, height, created_at, updated_at) "
        f"select '{image_id}', id, 200, 100, now(), now() from shops",
    )
    environ = external(url, data_dir)
    return SourceShop({**environ, "SHOP_SMTP_URL": SMTP}, data_dir, url, image_id)


def external(url: str, data_dir: Path) -> dict[str, str]:
    """The settings of a shop on this database."""
    return {"SHOP_DATABASE_URL": url, "SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS}


def only_backup(place: Path) -> Path:
    (folder,) = place.iterdir()
    return folder


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest


def is_empty(url: str) -> bool:
    count = "select count(*) from pg_class where relnamespace = 'public'::regnamespace"
    return bool(fetch_value(url, count) == 0)


def shop_name(url: str) -> str:
    name: str = fetch_value(url, "select name from shops")
    return name
