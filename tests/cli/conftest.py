"""What the tests of the command line may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.db.processes import roomy_dir, serving_installed
from tests.service import Service


@pytest.fixture(scope="package")
def roomy() -> Iterator[Path]:
    """A directory in which an embedded database can live."""
    with roomy_dir() as path:
        yield path


@pytest.fixture(scope="package")
def at_home(roomy: Path) -> Iterator[tuple[Service, Path]]:
    """A shop on an embedded database, as a first start leaves it, and its data directory."""
    data_dir = roomy / "first"
    with serving_installed(SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0") as service:
        yield service, data_dir
