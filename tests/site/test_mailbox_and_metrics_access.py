"""The mailbox and the metrics are served only to direct requests from this machine in a try-out, or if a setting
enables them.
"""

from collections.abc import Iterator

import httpx2
import pytest

from tests.cluster import Cluster
from tests.mailserver import free_port
from tests.service import KEYS, Service


@pytest.fixture(scope="module")
def production_service(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
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


PATHS = ["/mailbox", "/mailbox.json?to=a@example.com", "/metrics"]


@pytest.mark.security("H-12")
@pytest.mark.parametrize("path", PATHS)
def test_the_mailbox_and_the_metrics_are_404_when_disabled(production_service: Service, path: str) -> None:
    assert production_service.get(path).status_code == 404


NOT_DIRECT = [
    {"Host": "rebound.example"},
    {"Host": "127.0.0.1.rebound.example:8000"},
    {"Host": "0.0.0.0:8000"},
    {"Host": "localhost@rebound.example"},
    {"Host": ""},
    {"Forwarded": "for=192.0.2.1"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Forwarded-Proto": "https"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
]


@pytest.mark.security("H-12")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", NOT_DIRECT, ids=str)
async def test_a_try_out_refuses_other_hosts_and_proxied_requests(
    http: httpx2.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    assert (await http.get(path, headers=headers)).status_code == 404


@pytest.mark.security("H-12")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.8.8.8:1", "[::1]:8000"])
async def test_a_try_out_serves_direct_local_requests(http: httpx2.AsyncClient, path: str, host: str) -> None:
    assert (await http.get(path, headers={"Host": host})).status_code == 200


@pytest.fixture(scope="module")
def public_service(service: Service, database_url: str) -> Iterator[Service]:
    """The same shop, not as a try-out, with both enabled by their settings."""
    shop = Service(
        SHOP_DATA_DIR=service.environ["SHOP_DATA_DIR"],
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_METRICS="public",
        SHOP_DRAIN_SECONDS="0",
    )
    yield shop
    shop.stop()


@pytest.mark.security("H-12")
@pytest.mark.parametrize("path", PATHS)
async def test_a_setting_enables_them_for_every_request(public_service: Service, path: str) -> None:
    async with public_service.client() as http:
        for headers in ({}, {"Host": "shop.example"}, {"X-Forwarded-For": "192.0.2.1"}):
            assert (await http.get(path, headers=headers)).status_code == 200


def test_the_banner_does_not_mention_a_disabled_mailbox(production_service: Service) -> None:
    assert "Mailbox" not in "".join(production_service.lines)
