"""Fixtures of the tests of backups."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backups.shops import SourceShop, make_source, only_backup
from tests.cli.command import Command


@pytest.fixture
def source(own_database: Callable[..., str], tmp_path: Path) -> SourceShop:
    return make_source(own_database(), tmp_path / "data")


@pytest.fixture
def empty_database(own_database: Callable[..., str]) -> str:
    return own_database("template0")


@pytest.fixture
def saved_backup(shop: Command, source: SourceShop, tmp_path: Path) -> Path:
    """The folder of a backup of the source."""
    result = shop("backup", str(tmp_path / "backups"), **source.environ)
    assert result.returncode == 0, result.stderr
    return only_backup(tmp_path / "backups")
