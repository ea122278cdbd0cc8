"""Distributes the files of tests to processes: all files with a browser to one of them, which starts it once."""

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

_WITH_BROWSER = (
    "tests/admin/browser/",
    "tests/website/browser/",
    "tests/website/test_script.py",
)


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives each file to one process, and the files with a browser together to one."""

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith(_WITH_BROWSER) else super()._split_scope(nodeid)


def find_other_browsers(items: Iterable[pytest.Item]) -> list[str]:
    """The ids of tests of the suite that start a browser outside these files."""
    with_browser = (item for item in items if "browser" in getattr(item, "fixturenames", ()))
    return [
        item.nodeid
        for item in with_browser
        if not item.nodeid.startswith(_WITH_BROWSER) and not item.get_closest_marker("torture")
    ]
