"""Derives SQLAlchemy Core tables from typed rows, so that each table is declared once."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, get_type_hints
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    DefaultClause,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.sql.schema import SchemaItem

from shop.base.input_types import split_kind

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

_TYPES: dict[Any, Any] = {
    UUID: PG_UUID(as_uuid=True),
    # For counts and minor units alike: a 32-bit column overflows at two billion.
    int: BigInteger(),
    bool: Boolean(),
    str: Text(),
    bytes: LargeBinary(),
    date: Date(),
    datetime: DateTime(timezone=True),
    dict[str, Any]: JSONB(),
    list[str]: ARRAY(Text()),
    list[UUID]: ARRAY(PG_UUID(as_uuid=True)),
    Decimal: Numeric(),
}
COLUMN_TYPES = frozenset(repr(each) for each in _TYPES.values())


class Row(msgspec.Struct, frozen=True):
    """A table row: its annotations are the columns, its defaults the column defaults."""


def table(
    name: str,
    row: type[Row],
    *items: SchemaItem,
    fill_factor: int | None = None,
    defaults: Mapping[str, str] | None = None,
    partition_by: str | None = None,
    owner: MetaData | None = None,
) -> Table:
    """Returns the table of a row type, with its keys, checks and indexes. `fill_factor` leaves space on each page for
    updates; `defaults` are SQL expressions for columns without a value; `partition_by` divides the table into
    partitions, which the program creates; `owner` are the tables of an extension.
    """
    hints = get_type_hints(row)
    columns = [_column(field, hints[field.name]) for field in msgspec.structs.fields(row)]
    for column in columns:
        if defaults and column.name in defaults:
            column.server_default = DefaultClause(text(defaults[column.name]))
    options: dict[str, Any] = {"postgresql_with": {"fillfactor": fill_factor}} if fill_factor else {}
    if partition_by:
        options["postgresql_partition_by"] = partition_by
    return Table(name, metadata if owner is None else owner, *columns, *items, **options)


class ExtensionTables:
    """The tables of an extension, whose names all begin with `x_<name>_`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metadata = MetaData(naming_convention=metadata.naming_convention)

    def table(self, name: str, row: type[Row], *items: SchemaItem) -> Table:
        """Returns the table of a row type, with its keys, checks and indexes."""
        return table(f"x_{self.name}_{name}", row, *items, owner=self.metadata)

    def index(self, name: str, *columns: str, is_unique: bool = False) -> Index:
        """Returns an index of a table of the extension; its name needs the prefix too."""
        return index(f"ix_x_{self.name}_{name}", *columns, is_unique=is_unique)


def key(*columns: str) -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint(*columns)


def unique(*columns: str) -> UniqueConstraint:
    return UniqueConstraint(*columns)


def check(name: str, condition: str) -> CheckConstraint:
    return CheckConstraint(condition, name=name)


def index(name: str, *columns: str, where: str | None = None, is_unique: bool = False) -> Index:
    return Index(name, *columns, unique=is_unique, postgresql_where=text(where) if where else None)


def expression_index(name: str, expression: str, *, where: str) -> Index:
    """Returns an index on an expression."""
    return Index(name, text(expression), postgresql_where=text(where))


def search_index(name: str, column: str) -> Index:
    """Returns a GIN index, for columns with many values in a row: words, arrays of ids."""
    return Index(name, column, postgresql_using="gin")


def refers(column: str, target: Table, *, on_delete: str | None = None) -> ForeignKeyConstraint:
    return ForeignKeyConstraint([column], [target.c.id], ondelete=on_delete)


def _column(field: msgspec.structs.FieldInfo, hint: Any) -> Column[Any]:
    kind, nullable = split_kind(hint)
    return Column(field.name, _TYPES[kind], nullable=nullable, server_default=_default(field))


def _default(field: msgspec.structs.FieldInfo) -> Any:
    match field.default:
        case _ if field.default_factory is dict:
            return text("'{}'::jsonb")
        case _ if field.default_factory is list:
            return text("'{}'")
        case msgspec.NODEFAULT | None:
            return None
        case bool(value):
            return text("true" if value else "false")
        case int() | Decimal() as value:
            return text(str(value))
        case str(value):
            return text(f"'{value}'")
        case other:
            raise TypeError(f"{field.name}: unsupported column default: {other!r}")
