"""What the parent process passes to its workers, and values derived from the settings."""

import os
from pathlib import Path

import msgspec

from shop.base.config.settings import Settings
from shop.base.crypto.key_file import KEY_FILE, read_key_file
from shop.base.crypto.keys import Keys
from shop.db.embedded import database_url
from shop.db.pool import SESSION_SETTINGS
from shop.db.replicas import Replicas, open_replicas


class ServerConfiguration(msgspec.Struct, frozen=True):
    """Configuration that the parent process passes to its workers."""

    settings: Settings
    host: str
    parent: int
    """Id of the parent process; workers exit when it ends."""
    run_dir: Path
    """Shared by the workers: holds the `draining` flag before a stop and the metrics snapshot of each worker."""
    outdated: frozenset[str]
    """Known migrations except the newest."""

    @property
    def stopping(self) -> Path:
        """The flag file that exists while the server drains before a stop."""
        return self.run_dir / "draining"


def make_run_dir(run_dir: Path) -> None:
    """Recreates the run directory if a cleaner of temporary files removed it. Its name is known by then, so another
    account may have created it first; raises PermissionError in that case.
    """
    run_dir.mkdir(mode=0o700, exist_ok=True)
    if run_dir.lstat().st_uid != os.geteuid():
        raise PermissionError(f"{run_dir} belongs to another user")


def get_database_url(settings: Settings) -> str:
    return settings.database_url or database_url(settings.data_dir)


def open_configured_replicas(settings: Settings) -> Replicas | None:
    """Returns None, and so costs nothing, if no replicas are configured."""
    if not settings.database_replica_urls:
        return None
    return open_replicas(
        settings.database_replica_urls,
        size=settings.database_pool,
        max_lag=settings.replica_lag_seconds,
        settings=SESSION_SETTINGS,
        is_prepared=settings.is_prepared,
    )


def read_keys(settings: Settings) -> Keys:
    """Returns the configured keys, or those generated into the data directory."""
    return settings.secret_keys or read_key_file(settings.data_dir / KEY_FILE)


def is_mailbox_on(settings: Settings, host: str) -> bool:
    """Returns whether /mailbox is served: by default only in a local try-out, because it exposes everyone's login
    codes.
    """
    return settings.mailbox == "on" or (settings.mailbox is None and settings.is_try_out(host))
