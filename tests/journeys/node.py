"""Programs of client libraries: installed into a directory of their own, and run against a demo shop."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import Cluster
from tests.service import KEYS, Service

PROGRAMS = Path(__file__).parent / "clients"


def run(*command: str | Path, cwd: Path, seconds: float = 300) -> str:
    out = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False)
    assert out.returncode == 0, f"{command}\n{out.stdout[-6000:]}\n{out.stderr[-6000:]}"
    return out.stdout


def install(*command: str | Path, cwd: Path) -> None:
    """What cannot be fetched is no fault of the service."""
    out = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    if out.returncode != 0:
        pytest.skip(f"{command[0]} cannot install the packages here: {out.stderr.strip()[-300:]}")


def install_packages(path: Path, packages: Mapping[str, str], *programs: str) -> None:
    """Fills the directory with npm packages, and with the programs that use them."""
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


def assert_bought(service: Service, number: str) -> None:
    """A completed order is printed, and the last request to complete one succeeded."""
    assert number.startswith("R")
    lines = [json.loads(line) for line in service.lines if '"/api/v2/storefront/checkout/complete"' in line]
    assert lines[-1]["status"] == 200
