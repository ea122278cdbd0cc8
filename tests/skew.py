"""Starts a shop on a machine with a wrong clock, by Debian's libfaketime."""

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
    """The path of the library. As root on a Debian machine, a missing one is installed first."""
    library = _find()
    if not library and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "libfaketime"]
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(install, env=environ, check=False, capture_output=True, timeout=300)
        library = _find()
    if not library:
        pytest.fail("libfaketime is needed to skew a clock; install the package libfaketime")
    return library


def _find() -> str:
    return next((str(path) for path in _LIBRARIES.glob("**/faketime/libfaketimeMT.so.1")), "")


def start_with_skew(seconds: int, **environ: str) -> InstalledService:
    """Starts a shop whose time of day is wrong by so many seconds; the clock that measures timeouts is right."""
    faketime = {"LD_PRELOAD": libfaketime(), "FAKETIME": f"{seconds:+}s", "DONT_FAKE_MONOTONIC": "1"}
    return InstalledService(**environ, **faketime)
