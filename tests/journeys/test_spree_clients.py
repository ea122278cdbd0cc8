"""Clients that were written for Spree work against this service: its JavaScript SDK, and a source plugin of Gatsby."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shop.demo.shop import COUPON
from tests.accounts import new_email
from tests.cluster import Cluster
from tests.journeys.node import assert_order_completed, demo_service, install_packages, run
from tests.service import Service

pytestmark = pytest.mark.torture
SDK = {
    "@spree/axios-fetcher": "1.0.0",
    "@spree/storefront-api-v2-sdk": "6.0.6",
    "axios": "0.25.0",
}
# The plugin's SDK of version 2 does not declare the runtime that it needs; Gatsby has it.
GATSBY = {"@babel/runtime": "7.28.4", "gatsby-source-spree": "1.0.0"}
STEPS = [
    "list products",
    "show a product by id and by slug",
    "list and show taxons",
    "list and show countries",
    "read menus and pages",
    "create a cart",
    "add an item",
    "set the quantity",
    "apply a coupon",
    "remove the coupon",
    "estimate shipping rates",
    "give e-mail and addresses",
    "list shipping rates",
    "select a shipping method",
    "list payment methods",
    "add a payment",
    "advance the checkout",
    "complete the checkout",
    "read the order's status by its token",
    "sign in and refresh the tokens",
    "read and update the account",
    "create and list addresses",
    "associate a guest cart",
    "buy as the user and list the orders",
]


@pytest.fixture(scope="module")
def demo(cluster: Cluster, worker_name: str) -> Iterator[Service]:
    with demo_service(cluster, f"spree_{worker_name}") as service:
        yield service


@pytest.fixture(scope="module")
def sdk_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the JavaScript SDK, and the programs that use it."""
    path = tmp_path_factory.mktemp("sdk")
    install_packages(path, SDK, "spree.js", "spree_sdk.js", "vue_storefront.js")
    return path


def list_images(demo: Service) -> dict[str, Any]:
    """The attributes of all images of the first page of products, by id."""
    document = httpx2.get(f"{demo.url}/api/v2/storefront/products", params={"include": "images"}).json()
    return {record["id"]: record["attributes"] for record in document["included"]}


def test_the_javascript_sdk_of_spree_completes_an_order_in_24_steps(demo: Service, sdk_project: Path) -> None:
    *steps, number = run("node", "spree_sdk.js", demo.url, new_email(), COUPON, cwd=sdk_project).splitlines()

    assert steps == STEPS
    assert len(steps) == 24
    assert_order_completed(demo, number)


def test_the_requests_of_the_vue_storefront_integration_complete_an_order(demo: Service, sdk_project: Path) -> None:
    """The integration is not published as a package: the program sends its requests with the SDK it is built on."""
    *_, number = run("node", "vue_storefront.js", demo.url, new_email(), cwd=sdk_project).splitlines()

    assert_order_completed(demo, number)


def test_the_source_plugin_of_gatsby_creates_product_nodes_with_images(demo: Service, tmp_path: Path) -> None:
    install_packages(tmp_path, GATSBY, "gatsby_source.js")

    nodes = json.loads(run("node", "gatsby_source.js", demo.url, cwd=tmp_path))

    assert len(nodes) == len({node["id"] for node in nodes}) == 25
    assert {node["internal"]["type"] for node in nodes} == {"SpreeProducts"}
    assert all(node["attributes"]["price"] and node["relationships"]["taxons"]["data"] for node in nodes)
    images = list_images(demo)
    for node in nodes:
        styles = images[node["relationships"]["images"]["data"][0]["id"]]["styles"]
        assert httpx2.get(demo.url + styles[0]["url"]).status_code == 200
