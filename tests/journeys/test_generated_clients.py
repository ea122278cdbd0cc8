"""Clients that are generated from the description: each compiles in its strictest mode, and completes an order."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.accounts import new_email
from tests.cluster import Cluster
from tests.journeys.node import PROGRAMS, assert_order_completed, demo_service, install, install_packages, run
from tests.service import Service

pytestmark = pytest.mark.torture
GENERATOR = "openapi-python-client==0.29.1"
PACKAGES = {
    "@hey-api/openapi-ts": "0.95.0",
    "@redocly/cli": "2.73.0",
    "@types/node": "20.19.43",
    "openapi-fetch": "0.17.0",
    "openapi-typescript": "7.13.0",
    "typescript": "5.9.3",
}
COMPILER = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "module": "node16",
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": ["node"],
    "outDir": "out",
}
# Lines are sent and received as bytes.
CONFIG = "content_type_overrides:\n  application/x-ndjson: application/octet-stream\n"


@pytest.fixture(scope="module")
def demo(cluster: Cluster, worker_name: str) -> Iterator[Service]:
    with demo_service(cluster, f"clients_{worker_name}") as service:
        yield service


@pytest.fixture(scope="module")
def python_client(demo: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the generated package, its dependencies, and the program that uses it."""
    path = tmp_path_factory.mktemp("python")
    run(sys.executable, "-m", "venv", path / "venv", cwd=path)
    install(path / "venv/bin/pip", "install", "-q", GENERATOR, "mypy", cwd=path)
    (path / "config.yml").write_text(CONFIG)
    command = ["generate", "--url", f"{demo.url}/openapi.json", "--config", "config.yml", "--meta", "none"]
    run(path / "venv/bin/openapi-python-client", *command, "--output-path", "shop_client", cwd=path)
    (path / "purchase.py").write_text((PROGRAMS / "purchase.py.txt").read_text())
    return path


@pytest.fixture(scope="module")
def node_project(demo: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the generators for TypeScript, the description, and the programs that use the clients."""
    path = tmp_path_factory.mktemp("node")
    install_packages(path, PACKAGES, "openapi_fetch.ts", "hey_api.ts")
    (path / "openapi.json").write_bytes(httpx2.get(f"{demo.url}/openapi.json").content)
    return path


def compile_program(project: Path, program: str) -> None:
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER, "files": [program]}))
    run("npx", "tsc", cwd=project)


def test_the_description_passes_the_linter(node_project: Path) -> None:
    report: Any = json.loads(run("npx", "redocly", "lint", "openapi.json", "--format", "json", cwd=node_project))

    assert report["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_a_client_of_openapi_python_client_type_checks_and_completes_an_order(
    demo: Service, python_client: Path
) -> None:
    run("venv/bin/mypy", "--strict", "purchase.py", "shop_client", cwd=python_client, seconds=900)

    output = run("venv/bin/python", "purchase.py", demo.url, new_email(), cwd=python_client)

    assert_order_completed(demo, output)


def test_a_client_of_openapi_typescript_compiles_and_completes_an_order(demo: Service, node_project: Path) -> None:
    run("npx", "openapi-typescript", "openapi.json", "-o", "shop.ts", cwd=node_project)
    compile_program(node_project, "openapi_fetch.ts")

    output = run("node", "out/openapi_fetch.js", demo.url, new_email(), cwd=node_project)

    assert_order_completed(demo, output)


def test_a_client_of_hey_api_compiles_and_completes_an_order(demo: Service, node_project: Path) -> None:
    run("npx", "openapi-ts", "-i", "openapi.json", "-o", "hey", "-c", "@hey-api/client-fetch", cwd=node_project)
    compile_program(node_project, "hey_api.ts")

    output = run("node", "out/hey_api.js", demo.url, new_email(), cwd=node_project)

    assert_order_completed(demo, output)
