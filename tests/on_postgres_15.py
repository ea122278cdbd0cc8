"""Runs the suite on PostgreSQL 15, the oldest we support; Debian has it as the package postgresql-15."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cluster import OTHER_BINARIES

BINARIES = Path("/usr/lib/postgresql/15/bin")
# They use no database.
IGNORED = ("tests/test_architecture.py", "tests/test_locks.py", "tests/base", "tests/rules")


def main() -> int:
    if not BINARIES.exists():
        sys.exit("PostgreSQL 15 is needed for this; install the package postgresql-15.")
    ignored = [f"--ignore={path}" for path in IGNORED]
    suite = [sys.executable, "-m", "pytest", "--forks", "3", "-m", "not torture", *ignored, *sys.argv[1:]]
    return subprocess.run(suite, env={**os.environ, OTHER_BINARIES: str(BINARIES)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
