"""The embedded PostgreSQL, used when no database URL is configured: bundled binaries run in the data directory.

    <data dir>/postgres/   the cluster, 0700, owned by the user it runs as
    <data dir>/run/        its socket, 0700; there is no TCP port
    <data dir>/postgres.log

Every process that uses it holds a shared lock on `postgres.users`, which the kernel releases when the process ends.
Starting and stopping take an exclusive lock on `postgres.control`. A process that can lock `postgres.users` exclusively
on exit is the last user, and stops the server.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from shop.base.errors import CannotStart
from shop.db.embedded_account import (
    BINARIES,
    ensure_installed,
    own_directory,
    reachable_binaries,
    server_account,
)
from shop.db.embedded_recovery import SOCKET_NAME, is_running, remove_dead_server

ROLE = DATABASE = "shop"
_SOCKET_PATH_LIMIT = 103  # macOS allows 104 bytes with the final NUL, Linux 108.
_FORBIDDEN_CHARACTERS = frozenset("'\"\\,$\n")
_CONFIGURATION = """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = 128MB
max_wal_size = 2GB
password_encryption = scram-sha-256
log_destination = stderr
log_min_messages = warning
# The text of a failing statement may hold what a caller sent.
log_min_error_statement = panic
"""

_lock_descriptors: set[int] = set()
"""The locks of this process. A fork closes them: it must not count as a user after its parent exits."""


def _close(lock: int) -> None:
    _lock_descriptors.discard(lock)
    os.close(lock)


def _close_locks() -> None:
    while _lock_descriptors:
        os.close(_lock_descriptors.pop())


_spawn_lock = threading.Lock()
"""Held while a subprocess is started: a concurrent fork would inherit its pipes and keep them open."""
os.register_at_fork(before=_spawn_lock.acquire, after_in_parent=_spawn_lock.release, after_in_child=_spawn_lock.release)
os.register_at_fork(after_in_child=_close_locks)


def database_url(data_dir: Path, database: str = DATABASE) -> str:
    """Returns the URL of the embedded database, whether or not it is running."""
    return f"postgresql:///{database}?host={quote(str(_socket_dir(data_dir)), safe='/')}&user={ROLE}"


class Embedded:
    """One process's use of the embedded server, which runs from the first `start` to the last user's `stop`."""

    LOCALE: tuple[str, ...] = (
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--encoding=UTF8",
    )

    def __init__(self, data_dir: Path) -> None:
        ensure_installed()
        self._dir = data_dir
        self._cluster = data_dir / "postgres"
        self._users: int | None = None
        self._account = server_account()
        self._binaries = BINARIES / "bin"

    def start(self) -> str:
        """Starts or joins the server; returns the URL of its database."""
        if set(str(self._dir)) & _FORBIDDEN_CHARACTERS:
            raise CannotStart(
                f"{self._dir} contains a character that PostgreSQL does not allow in paths; "
                "choose another with SHOP_DATA_DIR."
            )
        self._check_reachable()
        with self._control():
            if self._users is None:
                self._users = self._open_lock("postgres.users")
                fcntl.flock(self._users, fcntl.LOCK_SH)
            if not self._is_running():
                self._launch()
        return database_url(self._dir)

    def revive(self) -> bool:
        """Restarts the server if it died; returns whether it had."""
        if self._is_running():
            return False
        self.start()
        return True

    def stop(self) -> None:
        if self._users is None:
            return
        with self._control():
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                if self._is_running():
                    self._run("pg_ctl", "stop", "-D", str(self._cluster), "-m", "fast", "-t", "20")
                if _socket_dir(self._dir).parent != self._dir:
                    shutil.rmtree(_socket_dir(self._dir), ignore_errors=True)
            _close(self._users)
            self._users = None

    def _launch(self) -> None:
        if not (self._cluster / "PG_VERSION").exists():
            self._make_cluster()
        own_directory(_socket_dir(self._dir), self._account)
        options = f"-c unix_socket_directories='{_quote_path(_socket_dir(self._dir))}'"
        log = self._dir / "postgres.log"
        start = ("pg_ctl", "start", "-D", str(self._cluster), "-l", str(log), "-w", "-t", "60", "-o", options)
        log.touch(mode=0o600)
        if self._account:
            os.chown(log, self._account.pw_uid, self._account.pw_gid)
        remove_dead_server(self._cluster, _socket_dir(self._dir))
        if self._run(*start, may_fail=True):
            reason = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise CannotStart(f"The embedded database does not start: {reason[0]} (see {log} for the full log).")

    def _make_cluster(self) -> None:
        # In a unique directory: a start that was killed may have left an initdb running in another.
        temporary = Path(tempfile.mkdtemp(dir=self._dir, prefix="postgres.making."))
        own_directory(temporary, self._account)
        # The mode of the socket directory restricts access, so `trust` admits only its owner and root.
        self._run("initdb", "-D", str(temporary), "-U", ROLE, "--auth=trust", "--no-instructions", *self.LOCALE)
        with (temporary / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION)
        single = f"create database {DATABASE};\n"
        self._run(
            "postgres", "--single", "-D", str(temporary), "-c", "log_min_messages=fatal", "postgres", stdin=single
        )
        if self._cluster.exists():
            shutil.rmtree(self._cluster)
        temporary.rename(self._cluster)
        for leftover in self._dir.glob("postgres.making*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _is_running(self) -> bool:
        return is_running(self._cluster, _socket_dir(self._dir))

    def _check_reachable(self) -> None:
        """Checks that the account under which the server runs for root can reach its files."""
        self._binaries = reachable_binaries(self._dir, self._account)

    def _run(self, program: str, *arguments: str, may_fail: bool = False, stdin: str | None = None) -> int:
        account = self._account
        with _spawn_lock:
            process = subprocess.Popen(  # noqa: S603  Our own binaries, no shell.
                [self._binaries / program, *arguments],
                text=True,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                # Ctrl-C must not reach the server: the shop stops it after the last response.
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        output, _ = process.communicate(stdin)
        if process.returncode and not may_fail:
            last = (output or "").strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
            raise CannotStart(f"{program} of the embedded database failed: {last[0]}")
        return process.returncode

    @contextmanager
    def _control(self) -> Iterator[None]:
        lock = self._open_lock("postgres.control")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            _close(lock)

    def _open_lock(self, name: str) -> int:
        try:
            lock = os.open(self._dir / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            raise CannotStart(f"{self._dir} cannot be written; choose another with SHOP_DATA_DIR.") from None
        _lock_descriptors.add(lock)
        return lock


def _socket_dir(data_dir: Path) -> Path:
    near = data_dir / "run"
    if len(os.fsencode(near / SOCKET_NAME)) <= _SOCKET_PATH_LIMIT:
        return near
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    # Ignores TMPDIR: commands with different environments must find the same socket.
    return Path("/tmp") / f"shop-{digest}"  # noqa: S108  Owner and mode are checked.


def _quote_path(path: Path) -> str:
    return str(path).replace("'", "''")
