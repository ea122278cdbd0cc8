"""What a shop with a mail server shows to nobody unless it is told to: the mailbox and the numbers."""

from collections.abc import Iterator

import pytest

from tests.cluster import Cluster
from tests.mailserver import free_port
from tests.service import KEYS, Service


@pytest.fixture(scope="module")
def closed(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with cluster.database(f"closed_{worker_name}") as url:
        service = Service(
            SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
            SHOP_DATABASE_URL=url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_SMTP_URL=f"smtp://127.0.0.1:{free_port()}",
            SHOP_DRAIN_SECONDS="0",
        )
        yield service
        service.stop()


@pytest.mark.parametrize("path", ["/mailbox", "/mailbox.json?to=a@example.com", "/metrics"])
def test_what_is_off_is_not_there(closed: Service, path: str) -> None:
    assert closed.get(path).status_code == 404


def test_the_banner_does_not_speak_of_a_mailbox_that_is_off(closed: Service) -> None:
    assert "Mailbox" not in "".join(closed.lines)
