"""What every command needs before it can work: settings, the data directory, the database, the keys."""

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from shop.app import is_mailbox_on, read_keys
from shop.base.errors import CannotStart
from shop.base.key_file import KEY_FILE
from shop.base.settings import Settings, read_settings
from shop.db.embedded import Embedded
from shop.db.pool import open_database
from shop.migrations.upgrade import current_revision, outdated_revisions, upgrade
from shop.queries.setup import shop as setup


def settings_here() -> Settings:
    """The environment's settings, with the data directory made absolute: workers may stand elsewhere."""
    settings = read_settings(os.environ)
    return msgspec.structs.replace(settings, data_dir=Path.cwd() / settings.data_dir)


def make_data_dir(settings: Settings) -> None:
    # As root the database runs under an account of its own, which must be able to walk through.
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        settings.data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
    except (PermissionError, FileExistsError, NotADirectoryError, OSError) as error:
        raise CannotStart(
            f"{settings.data_dir} cannot be made ({error.strerror}); choose another with SHOP_DATA_DIR."
        ) from None
    if not os.access(settings.data_dir, os.W_OK | os.X_OK):
        raise CannotStart(f"{settings.data_dir} cannot be written; choose another with SHOP_DATA_DIR.")


@contextmanager
def database(settings: Settings) -> Iterator[tuple[str, Embedded | None]]:
    """The database's URL; the embedded one runs at least as long as this is open."""
    if settings.database_url:
        yield settings.database_url, None
        return
    make_data_dir(settings)
    server = Embedded(settings.data_dir)
    try:
        yield server.start(), server
    finally:
        server.stop()


def ensure_migrated(url: str, *, may_upgrade: bool) -> None:
    """The embedded database is ours alone and is brought up to date; any other is the operator's to change."""
    if may_upgrade:
        upgrade(url)
        return
    current = asyncio.run(current_revision(url))
    if current is None or current in outdated_revisions():
        raise CannotStart("The database is behind this program; run `shop migrate` first.")


def ensure_keys(settings: Settings, url: str) -> None:
    """Makes keys once for the embedded database; with a database of its own an installation must bring its keys. New
    ones in the place of lost ones would make void what the lost ones made, and nobody would know why.
    """
    file = settings.data_dir / KEY_FILE
    if settings.secret_keys is None and settings.database_url:
        raise CannotStart(
            "With SHOP_DATABASE_URL, SHOP_SECRET_KEYS must be set too, the same on every machine; "
            "make one with: python3 -c \"import secrets; print('k1:' + secrets.token_hex(32))\""
        )
    if settings.secret_keys is None and not file.exists():
        if asyncio.run(_is_in_use(url)):
            raise CannotStart(
                f"The secret keys {file} are gone, and this shop's carts, sessions and authenticators were made with "
                "them: put the file back; or set SHOP_SECRET_KEYS to a new key, and all of those are void."
            )
        _make_keys(file)
    read_keys(settings)


async def _is_in_use(url: str) -> bool:
    opened = open_database(url, size=1)
    try:
        return await setup.is_in_use(opened.session())
    finally:
        await opened.close()


def _make_keys(file: Path) -> None:
    """Of two first starts at once both end with one key, and a crash at any point stands in nobody's way."""
    # A new name each time and readable by nobody else, as mkstemp has it.
    descriptor, making = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(f"k1:{secrets.token_hex(32)}\n")
            out.flush()
            os.fsync(out.fileno())
        # A link cannot replace what another first start has just made.
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(making)
    finally:
        Path(making).unlink()


def ensure_mail(settings: Settings, host: str) -> None:
    if not settings.smtp_url and not is_mailbox_on(settings, host):
        raise CannotStart(
            "Mails would have nowhere to go: set SHOP_SMTP_URL, or SHOP_MAILBOX=on to read them at /mailbox."
        )
