"""Fixtures of the command line tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.db.processes import accessible_dir, serving_installed
from tests.service import Service


@pytest.fixture(scope="package")
def base_dir() -> Iterator[Path]:
    """A directory that the account of an embedded database can enter."""
    with accessible_dir() as path:
        yield path


@pytest.fixture(scope="package")
def embedded_shop(base_dir: Path) -> Iterator[tuple[Service, Path]]:
    """A shop on an embedded database after its first start, and its data directory."""
    data_dir = base_dir / "first"
    with serving_installed(SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0") as service:
        yield service, data_dir
