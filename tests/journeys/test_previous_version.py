"""The previous release serves the schema of this version, alone and beside new nodes, and no request fails."""

import asyncio
import re
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest

from shop.migrations.upgrade import current_revision, newest_revision, upgrade
from tests.accounts import sign_in as sign_in_shopper
from tests.admin.dashboard import Dashboard, new_operator, secret_of, sign_in
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.cli.command import Command, external
from tests.db.processes import until
from tests.platform.client import Machine, ask_for_token, new_app
from tests.service import SHOP, Service, clean_environ

ROOT = Path(__file__).parents[2]
UNTAGGED_RELEASE = "72b6d45e3c7a34c9ba4ece96518e2de955a5fc8c"
"""The last commit of version 0.2.0, which has no tag: the previous release until a newer one has a tag."""
RUN = "from shop.cli.main import main; main()"
COUNT_UNLISTED = """select count(*) from orders where completed_at is not null
    and id not in (select order_id from order_listings)"""
ROUNDS = 3
PAGES = ("/admin", "/admin/orders", "/admin/products", "/admin/account")
RESOURCES = ("orders", "products", "variants", "users", "stock_items", "payments", "shipments", "promotions")


def run_git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def find_previous_release() -> str:
    """The newest tag before this commit, or the release that has none."""
    tags = run_git("tag", "--list", "v*", "--merged", "HEAD^", "--sort=-version:refname").decode().split()
    return tags[0] if tags else UNTAGGED_RELEASE


@pytest.fixture
def previous_source(tmp_path: Path) -> Path:
    """The source of the previous release."""
    commit = find_previous_release()
    try:
        archive = run_git("archive", commit, "src")
    except subprocess.CalledProcessError:
        pytest.fail(f"This clone lacks {commit}, the previous release: run `git fetch --unshallow --tags`.")
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(tmp_path / "previous", filter="data")
    return tmp_path / "previous" / "src"


def run_previous(source: Path, *command: str, **settings: str) -> str:
    environ = clean_environ(**settings, PYTHONPATH=str(source))
    return subprocess.run([sys.executable, *command], env=environ, check=True, capture_output=True, text=True).stdout


def list_last_steps() -> str:
    """The commands in CHANGELOG.md for the time after the last process of the previous release has ended."""
    section = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    return "".join(re.findall(r"^   ```sh\n(.*?)^   ```$", section, re.DOTALL | re.MULTILINE))


class PreviousService(Service):
    """Serves with the source of another version and the installed dependencies."""

    def __init__(self, source: Path, **environ: str) -> None:
        self._source = source
        super().__init__(**environ)

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        self.environ["PYTHONPATH"] = str(self._source)
        return subprocess.Popen(
            [sys.executable, "-c", RUN, *command],
            env=self.environ,
            cwd=self._source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


class CountingClient(httpx2.AsyncClient):
    """Counts responses, and collects those that are errors of the server."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.response_count = 0
        self.failures: list[str] = []

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        self.response_count += 1
        if response.status_code >= 500:
            self.failures.append(f"{request.method} {request.url.path}: {response.status_code} {response.text[:200]}")
        return response


class Load:
    """Shoppers, applications and operators, each in a loop."""

    def __init__(self, http: CountingClient, setup: CheckoutSetup, operator: tuple[Any, str] | None) -> None:
        token = {"access_token": setup.make.machine.access_token, "refresh_token": ""}
        self.http, self.operator = http, operator
        self.machine = Machine(http, token)
        self.setup = msgspec.structs.replace(setup, make=Make(self.machine))

    async def buy(self) -> None:
        product = await self.setup.product(on_hand=1000)
        buyer = Buyer(self.http, self.setup)
        await buyer.add_items((product, 1))
        await buyer.enter_address()
        await buyer.pay(method=self.setup.check)
        answer = await buyer.complete()
        assert answer.status == 200, answer

    async def visit(self) -> None:
        member = await sign_in_shopper(self.http)
        assert (await member.get("/account")).status == 200
        assert (await member.get("/account/orders")).status == 200

    async def call_platform(self) -> None:
        for name in RESOURCES:
            assert (await self.machine.get(f"/{name}?per_page=5")).status == 200
        product = await self.setup.product()
        await self.setup.make.change("products", product.id, "product", name="Cup")
        await self.setup.make.remove("products", product.id)

    async def open_dashboard(self) -> None:
        assert self.operator
        operator_id, email = self.operator
        response = await sign_in(self.http, email)
        assert response.status_code == 303, response.text
        dashboard = Dashboard(self.http, operator_id, email, secret_of(response))
        for path in PAGES:
            assert (await dashboard.get(path)).status_code == 200, path

    async def run(self, work: Awaitable[None] | None = None) -> None:
        """Every task `ROUNDS` times, and until the work has ended."""
        is_over = work is None

        async def repeat(task: Callable[[], Awaitable[None]]) -> None:
            count = 0
            while count < ROUNDS or not is_over:
                await task()
                count += 1

        tasks = [self.buy, self.visit, self.call_platform, *([self.open_dashboard] if self.operator else [])]
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(repeat(task))
            if work:
                await work
                is_over = True


@asynccontextmanager
async def serve(start: Callable[[], Service]) -> AsyncIterator[CountingClient]:
    service = await asyncio.to_thread(start)
    try:
        async with CountingClient(base_url=service.url, timeout=60) as http:
            yield http
    finally:
        await asyncio.to_thread(service.stop)


@pytest.mark.torture
async def test_the_previous_release_serves_the_new_schema(
    previous_source: Path, own_database: Callable[..., str], tmp_path: Path, shop: Command
) -> None:
    url = own_database("template0")
    settings = {**external(url), "SHOP_DATA_DIR": str(tmp_path), "SHOP_DRAIN_SECONDS": "0"}
    assert run_previous(previous_source, "-c", "import shop; print(shop.__file__)").startswith(str(previous_source))
    run_previous(previous_source, "-c", RUN, "migrate", **settings)
    db = await asyncpg.connect(url)
    async with AsyncExitStack() as new_nodes:
        async with serve(lambda: PreviousService(previous_source, **settings)) as old_http:
            token = (await ask_for_token(old_http, await new_app(db), "admin write")).json
            setup = await new_checkout_setup(Make(Machine(old_http, token)), card="none")
            await Load(old_http, setup, None).run(asyncio.to_thread(upgrade, url))
            assert await current_revision(url) == newest_revision()
            operator = await new_operator(db)
            await Load(old_http, setup, operator).run()
            new_http = await new_nodes.enter_async_context(serve(lambda: Service(**settings)))
            await asyncio.gather(*(Load(http, setup, operator).run() for http in (old_http, new_http)))
        script = list_last_steps().replace("shop psql", f"{SHOP} psql")
        environ = clean_environ(**settings)
        await asyncio.to_thread(subprocess.run, ["bash", "-euc", script], env=environ, check=True, capture_output=True)
        await Load(new_http, setup, operator).run()

        async def is_listed() -> bool:
            return bool(await db.fetchval(COUNT_UNLISTED) == 0)

        await until(is_listed)
    await db.close()
    checks = await asyncio.to_thread(lambda: shop("verify", **settings))

    print(
        f"{old_http.response_count} responses of {find_previous_release()}, {new_http.response_count} of this version"
    )
    assert old_http.failures + new_http.failures == []
    assert checks.returncode == 0, checks.stdout
