"""Preconditions of every command: settings, data directory, database, keys and mail."""

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from shop.app.configuration import is_mailbox_on, read_keys
from shop.base.config.settings import Settings, read_settings
from shop.base.crypto.key_file import KEY_FILE
from shop.base.errors import CannotStart
from shop.db.embedded import Embedded
from shop.db.pool import SESSION_SETTINGS, open_database
from shop.db.poolers import Pooler, find_pooler
from shop.migrations.upgrade import current_revision, outdated_revisions, upgrade
from shop.queries.setup import shop as shop_queries


def load_settings() -> Settings:
    """Returns the settings of the environment, with absolute directories: workers may run in another one."""
    settings = read_settings(os.environ)
    backup_place, archive = settings.backup_url, settings.archive_url
    return msgspec.structs.replace(
        settings,
        data_dir=Path.cwd() / settings.data_dir,
        backup_url=Path.cwd() / backup_place if isinstance(backup_place, Path) else backup_place,
        archive_url=Path.cwd() / archive if isinstance(archive, Path) else archive,
    )


def make_data_dir(settings: Settings) -> None:
    # As root, the database runs under its own account, which must be able to traverse the directory.
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        settings.data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
    except (PermissionError, FileExistsError, NotADirectoryError, OSError) as error:
        raise CannotStart(
            f"{settings.data_dir} cannot be created ({error.strerror}); choose another with SHOP_DATA_DIR."
        ) from None
    if not os.access(settings.data_dir, os.W_OK | os.X_OK):
        raise CannotStart(f"{settings.data_dir} cannot be written; choose another with SHOP_DATA_DIR.")


@contextmanager
def database(settings: Settings) -> Iterator[tuple[str, Embedded | None]]:
    """Yields the URL of the database; an embedded one runs at least until the context exits."""
    if settings.database_url:
        yield settings.database_url, None
        return
    server = Embedded(settings.data_dir)
    make_data_dir(settings)
    try:
        yield server.start(), server
    finally:
        server.stop()


@contextmanager
def temporary_database() -> Iterator[str]:
    """Yields the URL of an embedded database, which is removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="shop-copy-"))
    if os.geteuid() == 0:
        # As root, the database runs under its own account, which must be able to traverse the directory.
        directory.chmod(0o711)
    server = Embedded(directory)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def ensure_migrated(url: str, *, may_upgrade: bool) -> None:
    """Migrates if allowed (the embedded database); otherwise raises CannotStart if the database is outdated."""
    current = asyncio.run(current_revision(url))
    if current is not None and current not in outdated_revisions():
        return
    if may_upgrade:
        upgrade(url)
    else:
        raise CannotStart("The database is behind this program; run `shop migrate` first.")


def ensure_pooler(settings: Settings) -> None:
    """Logs that a pooler is between the shop and PostgreSQL, and what is missing; raises CannotStart if it cannot be
    used.
    """
    pooler = find_configured_pooler(settings)
    if pooler is None:
        return
    log = structlog.get_logger("shop.database")
    log.info("the database is behind a connection pooler", name=pooler.name, mode=pooler.mode)
    if reason := describe_unusable(pooler, is_prepared=settings.is_prepared):
        raise CannotStart(reason)
    if pooler.wrong_settings:
        log.warning("the pooler does not apply the session settings", missing=dict(pooler.wrong_settings))


def find_configured_pooler(settings: Settings) -> Pooler | None:
    if not settings.database_url:
        return None
    return asyncio.run(find_pooler(settings.database_url, SESSION_SETTINGS))


def describe_unusable(pooler: Pooler, *, is_prepared: bool) -> str | None:
    """Returns why a pooler cannot be used and what to change, or None."""
    if pooler.mode == "statement":
        return f"{pooler.name} is in statement mode, which has no transactions; set pool_mode = transaction."
    if is_prepared and pooler.keeps_prepared is False:
        return (
            f"{pooler.name} loses prepared statements; set max_prepared_statements (PgBouncer 1.21 or newer), or "
            "SHOP_DATABASE_PREPARED=off."
        )
    return None


def ensure_keys(settings: Settings, url: str) -> None:
    """Generates keys once for the embedded database; an external database requires SHOP_SECRET_KEYS. Never replaces
    lost keys, because that would silently void everything made with them.
    """
    file = settings.data_dir / KEY_FILE
    ensure_external_keys(settings)
    if settings.secret_keys is None and not file.exists():
        ensure_no_keys_needed(settings, url)
        write_key_file(file, f"k1:{secrets.token_hex(32)}")
    read_keys(settings)


def ensure_external_keys(settings: Settings) -> None:
    """Raises CannotStart if the database is external and SHOP_SECRET_KEYS is not set."""
    if settings.secret_keys is not None or not settings.database_url:
        return
    file = settings.data_dir / KEY_FILE
    source = (
        f"if the shop was moved from the embedded database, its value is the content of {file}; otherwise "
        if file.exists()
        else ""
    )
    raise CannotStart(
        f"With SHOP_DATABASE_URL, set SHOP_SECRET_KEYS too, the same on every machine; {source}"
        "generate one with: python3 -c \"import secrets; print('k1:' + secrets.token_hex(32))\""
    )


def ensure_no_keys_needed(settings: Settings, url: str) -> None:
    """Raises CannotStart if the database is in use, and so depends on keys that are missing."""
    if asyncio.run(_is_in_use(url)):
        raise CannotStart(
            f"The secret keys {settings.data_dir / KEY_FILE} are missing, and this shop's carts, sessions and "
            "authenticators depend on them: restore the file, or set SHOP_SECRET_KEYS to a new key, which invalidates "
            "all of these."
        )


async def _is_in_use(url: str) -> bool:
    db = open_database(url, size=1, is_prepared=False)
    try:
        return await shop_queries.is_in_use(db.session())
    finally:
        await db.close()


def write_key_file(file: Path, keys: str) -> None:
    """Writes the key file atomically, unless there is one: concurrent first starts agree on one key, and a crash blocks
    no later start.
    """
    # mkstemp creates a unique file that no other account can read.
    descriptor, making = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(f"{keys}\n")
            out.flush()
            os.fsync(out.fileno())
        # Unlike a rename, a hard link cannot replace the file of a concurrent first start.
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(making)
    finally:
        Path(making).unlink()


def ensure_mail(settings: Settings, host: str) -> None:
    if not settings.smtp_url and not is_mailbox_on(settings, host):
        raise CannotStart(
            "E-mail is not configured: set SHOP_SMTP_URL, or SHOP_MAILBOX=on to read e-mails at /mailbox."
        )
