"""Finds programs that Debian has as packages of the same name, and as root installs missing ones."""

import os
import shutil
import subprocess
from functools import cache

import pytest


@cache
def find_program(name: str) -> str:
    """The path of a program."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    program = shutil.which(name, path=path)
    if not program and os.geteuid() == 0 and shutil.which("apt-get"):
        # At run level 1 the package does not start its service.
        environ = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=200", name]
        subprocess.run(install, env=environ, check=False, capture_output=True, timeout=300)
        program = shutil.which(name, path=path)
    if not program:
        pytest.fail(f"{name} is needed to test its example in docs; install the package {name}")
    return program
