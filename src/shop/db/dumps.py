"""Reads and loads dumps of a database with PostgreSQL's own programs, as streams."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import Thread

from shop.base.errors import BackupError
from shop.db.client_programs import ClientConnection, Program, connection_of, find_programs

_CHUNK = 1 << 20
_DUMP_OPTIONS = ("--format=custom", "--no-owner", "--no-privileges", "--no-password", "--lock-wait-timeout=60s")
_RESTORE_OPTIONS = ("--no-owner", "--no-privileges", "--no-comments", "--file=-")
_CLIENT_OPTIONS = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1")
_UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"
_COLUMN_VERSION = re.compile(rb"ALTER TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_attver=[0-9]+\);\n")
"""An internal option of columns that some releases of PostgreSQL, such as 15.20, set, and others refuse."""
_ROWS = b"COPY "
_DROP_ALL = """
do $$ declare statement text; begin
for statement in
    select format('drop %s if exists %I.%I cascade', kinds.name, nspname, relname)
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    join (values ('r', 'table'), ('p', 'table'), ('v', 'view'), ('m', 'materialized view'), ('S', 'sequence'))
        as kinds (kind, name) on kinds.kind = relkind::text
    where nspname = 'public' and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
    union all
    select format('drop routine if exists %s cascade', pg_proc.oid::regprocedure)
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = 'public' and not exists (
        select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
loop execute statement; end loop; end $$;
"""
"""Drops everything in the schema except what belongs to an extension."""


class Interruption:
    """Ends the programs of a backup that is canceled."""

    def __init__(self) -> None:
        self.is_set = False
        self._programs: list[Program] = []

    def watch(self, program: Program) -> None:
        self._programs.append(program)
        if self.is_set:
            program.terminate()

    def set(self) -> None:
        self.is_set = True
        for program in self._programs:
            program.terminate()


def read_dump(
    url: str, snapshot_id: str, server_version: int, without_rows: str, interruption: Interruption
) -> Iterator[bytes]:
    """Yields a dump of the snapshot, with the rows of all tables but one."""
    connection = connection_of(url)
    program = Program(
        [
            find_programs("pg_dump", server_version) / "pg_dump",
            *_DUMP_OPTIONS,
            f"--exclude-table-data={without_rows}",
            f"--snapshot={snapshot_id}",
            f"--dbname={connection.url}",
        ],
        connection.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    interruption.watch(program)
    try:
        while chunk := program.stdout.read(_CHUNK):
            yield chunk
        if program.wait():
            raise BackupError(f"pg_dump failed: {program.last_error()}")
    finally:
        program.kill()


def load_dump(url: str, chunks: Iterable[bytes], server_version: int, *, must_drop: bool) -> None:
    """Loads a dump in one transaction: an error, or the end of this process, leaves the database as it was.

    `pg_restore` could load it alone, but not drop the current tables in the same transaction.
    """
    connection = connection_of(url)
    directory = find_programs("pg_restore", server_version)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    restorer = Program([directory / "pg_restore", *_RESTORE_OPTIONS], connection.environ(), **pipes)
    client = Program(
        [directory / "psql", *_CLIENT_OPTIONS, f"--dbname={connection.url}"],
        connection.environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    feeder = Thread(target=_feed, args=(restorer, chunks))
    feeder.start()
    try:
        _run_script(restorer, client, server_version, must_drop=must_drop)
    finally:
        restorer.terminate()
        feeder.join()
        restorer.kill()
        client.kill()


def _feed(program: Program, chunks: Iterable[bytes]) -> None:
    # The program may end before it has read everything; its exit status says why.
    with suppress(BrokenPipeError), program.stdin as stdin:
        for chunk in chunks:
            stdin.write(chunk)


def _run_script(restorer: Program, client: Program, server_version: int, *, must_drop: bool) -> None:
    with suppress(BrokenPipeError):
        client.stdin.write(b"begin;\n" + (_DROP_ALL.encode() if must_drop else b""))
        client.stdin.flush()
        for line in iter(restorer.stdout.readline, b""):
            is_unknown = (server_version < 17 and line == _UNKNOWN_BEFORE_17) or _COLUMN_VERSION.fullmatch(line)
            client.stdin.write(b"" if is_unknown else line)
            if line.startswith(_ROWS):
                break
        while chunk := restorer.stdout.read(_CHUNK):
            client.stdin.write(chunk)
        if restorer.wait():
            # Without a commit, the end of the script rolls back.
            raise BackupError(f"The dump cannot be read: {restorer.last_error()}")
        client.stdin.write(b"\ncommit;\nanalyze;\n")
    with suppress(BrokenPipeError):
        client.stdin.close()
    if client.wait():
        raise BackupError(f"The dump cannot be loaded: {client.last_error()}")


def client_command(url: str, server_version: int, arguments: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Returns the command and the environment of an interactive psql."""
    connection: ClientConnection = connection_of(url)
    program = find_programs("psql", server_version) / "psql"
    return [str(program), f"--dbname={connection.url}", *arguments], connection.environ()
