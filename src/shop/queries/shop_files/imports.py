"""Writes the rows of a whole shop into an empty one."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import Table, bindparam, delete, exists, func, literal_column, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, dynamic_statement, statement
from shop.models.cart.order_index import order_index_progress
from shop.models.catalog.images import loose_files
from shop.models.catalog.product_index import listing_sales, listings
from shop.models.catalog.products import products
from shop.models.operations.report_days import report_states
from shop.models.setup.shop import shops

_ID = PG_UUID(as_uuid=True)
_INT = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TIME = Annotated[datetime, msgspec.Meta(tz=True)]
_TYPES: dict[str, Any] = {
    "ARRAY(Text())": list[str],
    "ARRAY(UUID())": list[UUID],
    "BigInteger()": _INT,
    "Boolean()": bool,
    "Date()": date,
    "DateTime(timezone=True)": _TIME,
    "JSONB(astext_type=Text())": msgspec.Raw,
    "LargeBinary()": bytes,
    "Numeric()": Decimal,
    "Text()": str,
    "UUID()": UUID,
}
_NULL = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def line_type(table: Table, columns: Sequence[str]) -> type[msgspec.Struct]:
    """Returns the type of a line: exactly these columns, each with the type of its values."""
    fields = [(name, _value_type(table.c[name])) for name in columns]
    return msgspec.defstruct(f"{table.name}_line", fields, forbid_unknown_fields=True)


def _value_type(column: Any) -> Any:
    kind = _TYPES[repr(column.type)]
    # Raw values cannot be part of a union: they contain `null` themselves.
    return kind if kind is msgspec.Raw or not column.nullable else kind | None


def line_converter(table: Table, columns: Sequence[str]) -> Callable[[bytes], bytes]:
    """Returns a function that converts a JSON line to a line of COPY; it raises msgspec.MsgspecError."""
    decode = msgspec.json.Decoder(line_type(table, columns)).decode
    is_nullable = tuple(bool(table.c[name].nullable) for name in columns)

    def convert(line: bytes) -> bytes:
        values = msgspec.structs.astuple(decode(line))
        return ("\t".join(map(_copy_text, values, is_nullable)) + "\n").encode()

    return convert


def _copy_text(value: Any, is_nullable: bool) -> str:
    """Returns a value in the text format of COPY."""
    match value:
        case None:
            return _NULL
        case bool():
            content = "t" if value else "f"
        case bytes():
            content = "\\x" + value.hex()
        case msgspec.Raw():
            content = bytes(value).decode()
            if is_nullable and content == "null":
                return _NULL
        case list():
            elements = ('"' + str(each).replace("\\", "\\\\").replace('"', '\\"') + '"' for each in value)
            content = "{" + ",".join(elements) + "}"
        case datetime():
            content = value.isoformat()
        case _:
            content = str(value)
    return content.translate(_ESCAPES)


async def lock_tables(db: DatabaseSession, tables: Sequence[Table]) -> None:
    """Locks tables against writes of others until the transaction ends."""
    names = ", ".join(table.name for table in tables)
    await db.all(dynamic_statement(text(f"lock table {names} in exclusive mode"), _first))


async def find_used_table(db: DatabaseSession, tables: Sequence[Table]) -> str | None:
    """Returns the first table that has rows."""
    for table in tables:
        if await db.one(dynamic_statement(select(exists(select(table))), _first)):
            return table.name
    return None


async def delete_rows(db: DatabaseSession, tables: Sequence[Table]) -> None:
    for table in tables:
        await db.all(dynamic_statement(delete(table), _first))


async def insert_rows(db: DatabaseSession, table: Table, columns: Sequence[str], lines: AsyncIterator[bytes]) -> None:
    """Inserts all rows of a table with one COPY, so that rows can refer to each other."""
    await db.copy_in(table.name, columns, lines)


def _first(record: Any) -> Any:
    return record[0]


_SHOP_VERSION = statement(select(shops.c.version), lambda record: cast(int, record[0]))
_SET_SHOP_VERSION = statement(
    update(shops).values(version=bindparam("new_version")).returning(shops.c.id), lambda record: cast(int, record[0])
)
_PRODUCTS = statement(
    select(products.c.id).where(products.c.id > bindparam("after")).order_by(products.c.id).limit(bindparam("most")),
    lambda record: cast(UUID, record[0]),
)
_SET_SOLD_COUNTS = statement(
    update(listings)
    .where(listings.c.product_id == listing_sales.c.product_id, listings.c.sold_count != listing_sales.c.sold_count)
    .values(sold_count=listing_sales.c.sold_count),
    lambda record: None,
)
_RESET_ORDER_INDEX = statement(
    update(order_index_progress).values(position=None, filled_at=None, filled_id=None, is_filled=False),
    lambda record: None,
)
_RESET_REPORTS = statement(
    update(report_states).values(position=0, time_zone=None, rebuild_days=None, carts_counted_at=None),
    lambda record: None,
)
_ids = func.unnest(bindparam("ids", type_=ARRAY(_ID))).table_valued("id", name="ids").render_derived()
_MARK_LOOSE = statement(
    insert(loose_files)
    .from_select(["image_id", "created_at"], select(_ids.c.id, func.now()))
    .on_conflict_do_update(index_elements=["image_id"], set_={"created_at": func.now()}),
    lambda record: None,
)
_UNMARK_LOOSE = statement(delete(loose_files).where(loose_files.c.image_id == any_of("ids", _ID)), lambda record: None)
_CREATE_PARTITIONS = statement(
    select(func.create_event_partitions(literal_column("7"))), lambda record: cast(int, record[0])
)


async def find_shop_version(db: DatabaseSession) -> int:
    return await db.one(_SHOP_VERSION) or 0


async def set_shop_version(db: DatabaseSession, version: int) -> None:
    """Sets the version of the settings, so that running processes read them again."""
    await db.one(_SET_SHOP_VERSION, new_version=version)


async def list_product_ids(db: DatabaseSession, after: UUID, most: int) -> list[UUID]:
    return await db.all(_PRODUCTS, after=after, most=most)


async def set_sold_counts(db: DatabaseSession) -> None:
    """Copies the counts of sales to the listings of products."""
    await db.all(_SET_SOLD_COUNTS)


async def restart_indexes(db: DatabaseSession) -> None:
    """Lets the worker build the index of orders and the figures of reports again."""
    await db.all(_RESET_ORDER_INDEX)
    await db.all(_RESET_REPORTS)


async def mark_files_loose(db: DatabaseSession, image_ids: Sequence[UUID]) -> None:
    """Lets housekeeping delete the files of images, unless the import succeeds."""
    await db.all(_MARK_LOOSE, ids=list(image_ids))


async def unmark_files(db: DatabaseSession, image_ids: Sequence[UUID]) -> None:
    await db.all(_UNMARK_LOOSE, ids=list(image_ids))


async def create_event_partitions(db: DatabaseSession) -> None:
    """Creates the partitions of today and the next days."""
    await db.one(_CREATE_PARTITIONS)
