"""Detects a running embedded database server, and removes the files of one that was killed."""

import socket
import struct
import time
from pathlib import Path

from shop.base.errors import CannotStart

SOCKET_NAME = ".s.PGSQL.5432"
_RECOVERY_SECONDS = 20
_SSL_REQUEST = struct.pack("!II", 8, 80877103)  # An SSLRequest message, which every server answers.


def is_running(cluster: Path, socket_dir: Path) -> bool:
    try:
        if (cluster / "postmaster.pid").read_text().splitlines()[7].strip() != "ready":
            return False
        return _answers(socket_dir / SOCKET_NAME)
    except PermissionError:
        raise CannotStart(f"{cluster} belongs to another user; use a data directory of your own.") from None
    except TimeoutError:
        raise CannotStart(f"The database server of {cluster} does not respond; wait, or stop it.") from None
    except (OSError, IndexError):
        return False


def remove_dead_server(cluster: Path, socket_dir: Path) -> None:
    """Removes the files of a killed server. PostgreSQL treats the id in its pid file as a running server until the
    process is reaped, which never happens in a container without an init. The server's children exit a moment later;
    no other server may start before the last of them has exited.
    """
    file = cluster / "postmaster.pid"
    # Only if the process is known to be dead: one in another container is invisible but may be running.
    if not _is_unreaped(file):
        return
    deadline = time.monotonic() + _RECOVERY_SECONDS
    while _users_of(cluster):
        if time.monotonic() > deadline:
            raise CannotStart(f"A database server was killed, and one of its processes is still running ({cluster}).")
        time.sleep(0.05)
    for leftover in (file, *socket_dir.glob(f"{SOCKET_NAME}*")):
        leftover.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    """Returns whether a server responds on a socket. A successful connect is not enough: the children of a killed
    server keep its socket open a moment longer. The process itself may be invisible, in another container.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
        probe.sendall(_SSL_REQUEST)
        return probe.recv(1) != b""


def _is_unreaped(file: Path) -> bool:
    """Returns whether the process in a pid file is a zombie: ended but not reaped."""
    try:
        status = Path(f"/proc/{int(file.read_text().split()[0])}/stat").read_text()
    except (OSError, ValueError, IndexError):
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def _users_of(cluster: Path) -> list[str]:
    """Returns the ids of processes whose working directory is the cluster, as for PostgreSQL's. Empty without /proc."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.resolve():
                pids.append(entry.name)
        except OSError:
            continue
    return pids
