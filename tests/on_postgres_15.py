"""Runs the suite on PostgreSQL 15, the oldest we support; Debian has it as the package postgresql-15."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cluster import OTHER_BINARIES

BINARIES = Path("/usr/lib/postgresql/15/bin")
# Tests that use no database, and those generated from the API description, which cannot run with -n.
IGNORED = (
    "tests/test_architecture.py",
    "tests/test_locks.py",
    "tests/base",
    "tests/rules",
    "tests/site/test_description.py",
)


def main() -> int:
    if not BINARIES.exists():
        sys.exit("PostgreSQL 15 is needed for this; install the package postgresql-15.")
    options = [f"--ignore={path}" for path in IGNORED]
    suite = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "3",
        "--dist",
        "loadfile",
        "--no-loadscope-reorder",
        "-m",
        "not torture",
        *options,
        *sys.argv[1:],
    ]
    return subprocess.run(suite, env={**os.environ, OTHER_BINARIES: str(BINARIES)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
