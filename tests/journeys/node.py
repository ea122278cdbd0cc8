"""Installs client libraries into a separate directory and runs programs against a demo shop."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import Cluster
from tests.service import KEYS, Service

PROGRAMS = Path(__file__).parent / "clients"
UNREACHABLE = re.compile(r"ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|E40[34]|No matching distribution|Connection")


def run(*command: str | Path, cwd: Path, seconds: float = 300) -> str:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"
    return result.stdout


def install(*command: str | Path, cwd: Path) -> None:
    """Installs packages; skips the test only if the network or the package cannot be reached."""
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode != 0 and UNREACHABLE.search(result.stdout + result.stderr):
        pytest.skip(f"{command[0]} cannot reach its packages here: {result.stderr.strip()[-300:]}")
    assert result.returncode == 0, f"{command}\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"


def install_packages(path: Path, packages: Mapping[str, str], *programs: str) -> None:
    """Installs npm packages into a directory, and copies the programs that use them."""
    if shutil.which("npm") is None:
        pytest.skip("Node.js is not installed")
    (path / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
    install("npm", "install", "--no-audit", "--no-fund", cwd=path)
    for program in programs:
        shutil.copy(PROGRAMS / program, path)


@contextmanager
def demo_service(cluster: Cluster, name: str) -> Iterator[Service]:
    with cluster.data_dir(name) as (data_dir, _):
        service = Service("--demo", SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
        yield service
        service.stop()


def assert_order_completed(service: Service, number: str) -> None:
    """Asserts that `number` is an order number, and that the last request to complete an order succeeded."""
    assert number.startswith("R")
    lines = [json.loads(line) for line in service.lines if '"/api/v2/storefront/checkout/complete"' in line]
    assert lines[-1]["status"] == 200
