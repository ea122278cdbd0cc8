"""The version of the shop's setup, for the statements that read a checkout."""

from sqlalchemy import Text, func, literal_column, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import aggregate_order_by

from shop.models.setup.versions import setup_versions

SETUP_VERSION = select(
    func.string_agg(
        sql_cast(setup_versions.c.version, Text),
        aggregate_order_by(literal_column("','"), setup_versions.c.id),
        type_=Text(),
    )
).scalar_subquery()
"""A text that is another one after every change of the setup."""
