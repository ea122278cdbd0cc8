"""A second process of the shop."""

from collections.abc import Iterator

import pytest

from tests.service import KEYS, Service


@pytest.fixture(scope="module")
def other_service(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    node = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("other")),
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    yield node
    node.stop()
