"""Runs the suite on PostgreSQL 15, the oldest we support; Debian has it as the package postgresql-15."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster import make_run_dir, remove_run_dir

BINARIES = Path("/usr/lib/postgresql/15/bin")
ACCOUNT = "postgres"
# They ask nothing of a database.
IGNORED = ("tests/test_architecture.py", "tests/test_locks.py", "tests/base", "tests/rules")


def main() -> int:
    if not BINARIES.exists():
        sys.exit("PostgreSQL 15 is needed for this; install the package postgresql-15.")
    directory = make_run_dir()
    user = ACCOUNT if os.geteuid() == 0 else None
    sockets, data = directory / "run", directory / "data"
    try:
        sockets.mkdir(mode=0o700)
        if user:
            account = pwd.getpwnam(user)
            os.chown(directory, account.pw_uid, account.pw_gid)
            os.chown(sockets, account.pw_uid, account.pw_gid)
        run("initdb", "-D", str(data), "-U", "shop", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", user=user)
        options = f"-c listen_addresses='' -c unix_socket_directories='{sockets}' -c fsync=off"
        run("pg_ctl", "start", "-w", "-D", str(data), "-l", str(directory / "log"), "-o", options, user=user)
        url = f"postgresql:///postgres?host={sockets}&user=shop"
        ignored = [f"--ignore={path}" for path in IGNORED]
        suite = [sys.executable, "-m", "pytest", "--forks", "3", "-m", "not torture", *ignored, *sys.argv[1:]]
        return subprocess.run(suite, env={**os.environ, "TEST_POSTGRES_URL": url}, check=False).returncode
    finally:
        if (data / "postmaster.pid").exists():
            run("pg_ctl", "stop", "-m", "fast", "-D", str(data), user=user)
        shutil.rmtree(data, ignore_errors=True)
        remove_run_dir(directory)


def run(program: str, *arguments: str, user: str | None) -> None:
    subprocess.run([BINARIES / program, *arguments], check=True, user=user, cwd="/", stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
