"""A shop on a machine whose clock is wrong, by Debian's libfaketime."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.service import InstalledService

_LIBRARIES = Path("/usr/lib")


@cache
def libfaketime() -> str:
    """The library; on a fresh Debian machine it is installed first, where that is allowed."""
    found = _find()
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "libfaketime"]
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(install, env=environ, check=False, capture_output=True, timeout=300)
        found = _find()
    if not found:
        pytest.fail("libfaketime is needed to skew a clock; install the package libfaketime")
    return found


def _find() -> str:
    return next((str(path) for path in _LIBRARIES.glob("**/faketime/libfaketimeMT.so.1")), "")


def skewed(seconds: int, **environ: str) -> InstalledService:
    """Only what tells the time of day is wrong: timeouts are measured by another clock."""
    wrong = {"LD_PRELOAD": libfaketime(), "FAKETIME": f"{seconds:+}s", "DONT_FAKE_MONOTONIC": "1"}
    return InstalledService(**environ, **wrong)
