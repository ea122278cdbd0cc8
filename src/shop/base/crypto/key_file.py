"""The file of generated server keys: read, replaced in one step, and watched by running processes."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shop.base.crypto.keys import Keys, parse_keys
from shop.base.errors import CannotStart

KEY_FILE = "secret_keys"


def read_key_file(file: Path) -> Keys:
    try:
        return parse_keys(file.read_text().strip())
    except FileNotFoundError:
        raise CannotStart(
            f"There are no secret keys: set SHOP_SECRET_KEYS, or let `shop serve` create {file}."
        ) from None
    except ValueError as error:
        raise CannotStart(f"{file} cannot be read: {error}.") from None


def replace_key_file(file: Path, keys: Keys) -> None:
    """Replaces the file atomically: a reader, or a start after a crash, sees the old list or the new one."""
    owner = file.stat()
    descriptor, temporary = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w") as out:
            # Root may run the command while the service runs under another account.
            if os.geteuid() == 0:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            out.write(f"{keys.to_text()}\n")
            out.flush()
            os.fsync(descriptor)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(file.parent)


@contextmanager
def lock_key_file(file: Path) -> Iterator[None]:
    """Allows one change of the keys at a time. Locks the directory, because the file itself is replaced."""
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CannotStart("Another command is changing the keys; try again in a moment.") from None
    finally:
        os.close(directory)


class KeyFileWatch:
    """Detects changes of the key file in a running process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._last_stamp = self._stamp()

    def changed_keys(self) -> Keys | None:
        """Returns the keys in the file if it was replaced since the last call, else None."""
        stamp = self._stamp()
        if stamp == self._last_stamp or stamp is None:
            return None
        self._last_stamp = stamp
        return read_key_file(self._file)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
