"""The files of one release, built once for all tests."""

from pathlib import Path

import pytest

from tests.release.builds import build_release


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_release(tmp_path_factory.mktemp("release"))
