"""The version of the shop's setup."""

from uuid import UUID

from shop.db.rows import Row, key, table


class SetupVersion(Row, frozen=True, kw_only=True):
    """A part of the version. Triggers replace one part with every change of zones, taxes, shipping and payment methods,
    stock locations and countries, so that they can be cached.
    """

    id: UUID
    version: UUID


setup_versions = table("setup_versions", SetupVersion, key("id"))
