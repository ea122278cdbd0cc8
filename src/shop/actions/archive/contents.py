"""The rows of an order as the archive stores them: JSON lines, compressed, and encrypted with a key of its own."""

import asyncio
import zlib
from collections.abc import Iterator
from uuid import UUID

import msgspec
import structlog

from shop import __version__
from shop.actions.context import Shared
from shop.base.crypto.one_time_keys import decrypt, encrypt
from shop.base.errors import BackupError, Unavailable
from shop.gateways.backup_places import BackupPlace, open_place
from shop.models.cart.archived_orders import ArchivedOrder
from shop.queries.archive.archived_orders import ArchivedPart
from shop.queries.archive.contents import Rows

FORMAT = 1
"""The version of the format. Increment it if older versions cannot read the new one."""
FILE = "orders"
"""The name of the only file of an object."""
MAX_BYTES = 64 << 20
"""The size of the largest order, when it is not compressed."""
_AWAY = "The archive of orders is temporarily unavailable; retry in a few minutes."
_NO_ARCHIVE = "The archive of orders is not connected: SHOP_ARCHIVE_URL is not set."
_log = structlog.get_logger("shop.archive")
_encode = msgspec.json.Encoder().encode


class _ArchiveHead(msgspec.Struct, frozen=True):
    """The first line: which version of the shop wrote the others."""

    format: int
    shop_version: str


class _ArchivedLine(msgspec.Struct, frozen=True):
    """A row, as in the file of a whole shop, with the name of its table."""

    table: str
    row: dict[str, msgspec.Raw]


class ContentError(Unavailable):
    """The archive does not contain what it should; the message says what to do."""


def open_archive(shared: Shared) -> BackupPlace:
    """Opens the place of archived orders; raises Unavailable if there is none."""
    if shared.settings.archive_url is None:
        raise Unavailable(_NO_ARCHIVE)
    return open_place(shared.settings.archive_url)


def encode_rows(rows: Rows) -> bytes:
    """Returns the lines of an order; the same rows always give the same bytes."""
    lines = [_encode(_ArchiveHead(FORMAT, __version__))]
    lines += [_encode(_ArchivedLine(name, row)) for name, table_rows in rows.items() for row in table_rows]
    return b"".join(line + b"\n" for line in lines)


def decode_rows(lines: bytes) -> Rows:
    head, *others = lines.splitlines()
    if msgspec.json.decode(head, type=_ArchiveHead).format > FORMAT:
        raise ContentError("A newer version archived this order; install it.")
    rows: Rows = {}
    decode = msgspec.json.Decoder(_ArchivedLine).decode
    for line in map(decode, others):
        rows.setdefault(line.table, []).append(line.row)
    return rows


def pack_orders(contents: dict[UUID, bytes]) -> tuple[bytes, dict[UUID, ArchivedPart]]:
    """Returns an object with the lines of several orders, and where it has each."""
    data, parts = bytearray(), {}
    for order_id, lines in contents.items():
        key, part = encrypt(zlib.compress(lines, 6), order_id.bytes)
        parts[order_id] = ArchivedPart(len(data), len(part), key)
        data += part
    return bytes(data), parts


def unpack_part(data: bytes, order_id: UUID, key: bytes) -> bytes:
    """Returns the lines of an order; raises ContentError if the data is not what was archived."""
    try:
        unpacker = zlib.decompressobj()
        lines = unpacker.decompress(decrypt(key, data, order_id.bytes), MAX_BYTES)
        if unpacker.eof:
            return lines
    except (ValueError, zlib.error):
        pass
    raise ContentError("The object in the archive differs from what was archived; restore it from a copy.")


async def write_object(place: BackupPlace, name: str, data: bytes) -> None:
    """Writes a new object and reads it back; raises Unavailable if this fails."""
    try:
        await asyncio.to_thread(_write, place, name, data)
    except (BackupError, FileNotFoundError) as error:
        _log.warning("orders cannot be archived", reason=str(error))
        raise Unavailable(_AWAY) from None


def _write(place: BackupPlace, name: str, data: bytes) -> None:
    place.create_folder(name)
    place.write(name, FILE, _chunks(data))
    if b"".join(place.read(name, FILE)) != data:
        raise ContentError(f"{name} in {place} differs from what was written.")


def _chunks(data: bytes) -> Iterator[bytes]:
    yield data


async def find_fault(shared: Shared, order: ArchivedOrder) -> str | None:
    """Returns why an archived order could not be restored, or None if its rows can be read and are its own."""
    try:
        rows = await load_rows(shared, order)
    except Unavailable as error:
        return error.sentence
    ids = [msgspec.json.decode(row["id"], type=UUID) for row in rows.get("orders", ())]
    return None if ids == [order.id] else "The object in the archive has the rows of another order."


async def load_rows(shared: Shared, order: ArchivedOrder) -> Rows:
    """Reads the rows of an archived order; raises Unavailable if the storage does not answer."""
    place = open_archive(shared)
    try:
        data = await asyncio.to_thread(place.read_range, order.object_name, FILE, order.position, order.size)
        return decode_rows(unpack_part(data, order.id, order.encryption_key))
    except FileNotFoundError:
        raise ContentError(f"{place} lacks the object {order.object_name}; restore it from a copy.") from None
    except BackupError:
        raise Unavailable(_AWAY) from None
