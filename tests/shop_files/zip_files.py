"""Changes the file of a shop, to break it."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def rewrite(
    source: Path,
    target: Path,
    *,
    members: Mapping[str, bytes] | None = None,
    manifest: Callable[[dict[str, Any]], None] | None = None,
) -> Path:
    """Copies a file with other members. Sizes and checksums in the manifest follow, before `manifest` edits it."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        contents = {name: before.read(name) for name in before.namelist()} | dict(members or {})
        document = json.loads(contents.pop("manifest.json"))
        for table in document["tables"]:
            data = contents[f"records/{table['name']}.jsonl"]
            table |= {"rows": data.count(b"\n"), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if manifest:
            manifest(document)
        for name, data in contents.items():
            after.writestr(name, data)
        after.writestr("manifest.json", json.dumps(document))
    return target


def find_table(document: dict[str, Any], name: str) -> dict[str, Any]:
    table: dict[str, Any] = next(table for table in document["tables"] if table["name"] == name)
    return table


def read_member(file: Path, name: str) -> bytes:
    with zipfile.ZipFile(file) as archive:
        return archive.read(name)


def damage(source: Path, target: Path, name: str) -> Path:
    """Copies a file with one wrong byte in a member."""
    with zipfile.ZipFile(source) as archive:
        info = archive.getinfo(name)
    data = bytearray(source.read_bytes())
    data[info.header_offset + len(name) + 80] ^= 0xFF
    target.write_bytes(data)
    return target
