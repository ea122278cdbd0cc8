"""Decides which data of extensions in a file can be imported."""

from collections.abc import Sequence

import msgspec

from shop.base.errors import Malformed
from shop.models.shop_files.manifest import ExtensionManifest
from shop.models.shop_files.tables import ExtensionTableSet


class ExtensionSelection(msgspec.Struct, frozen=True, eq=False):
    """The extensions of a file: those to import, with their tables, and those that are not installed."""

    pairs: Sequence[tuple[ExtensionTableSet, ExtensionManifest]]
    missing: Sequence[ExtensionManifest]


def select_extensions(
    manifests: Sequence[ExtensionManifest], installed_sets: Sequence[ExtensionTableSet], *, may_skip: bool
) -> ExtensionSelection:
    """Finds the tables of each extension of a file. Raises Malformed if one is older than the file, or not installed
    and its data may not be left out.
    """
    sets = {each.name: each for each in installed_sets}
    names = [each.name for each in manifests]
    if len(set(names)) != len(names):
        raise Malformed("The manifest of the file names an extension twice; export the shop again.")
    missing = [each for each in manifests if each.name not in sets]
    if missing and not may_skip:
        labels = ", ".join(f"{each.name[:40]} {each.version[:40]}" for each in missing)
        raise Malformed(
            f"The file has data of extensions that are not installed: {labels}. Install them and run `shop migrate`, "
            "or repeat with --skip-missing-extensions to leave their data out."
        )
    pairs = [(sets[each.name], each) for each in manifests if each.name in sets]
    for tables, each in pairs:
        if each.revision not in tables.revisions:
            raise Malformed(
                f"The file has data of the extension {each.name} {each.version[:40]} (migration "
                f"{each.revision[:40]!r}), which is newer than the installed {tables.version}. Install that version or "
                "a newer one."
            )
    return ExtensionSelection(pairs, missing)
