"""Network partitions between the machines of a cluster: no acknowledged write is lost, and one leader at a time.

etcd, three PostgreSQL servers and two shops have a machine each; the proxy and the clients are on this machine.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.db.processes import fetch_value, until
from tests.journeys.networks import Machine, Network, run_network
from tests.journeys.patroni import TTL_SECONDS, Node, run_patroni
from tests.journeys.shops_under_load import WRITE_SECONDS, Load, Shops, assert_nothing_lost, run_shops, under_load
from tests.service import Service
from tests.shopper import PREFIX

pytestmark = pytest.mark.torture
CATALOG = f"{PREFIX}/products"
LEADER_ROLES = ("master", "primary")
STALL_SECONDS = TTL_SECONDS + 15
"""How long a leader waits at most for standbys that it has lost, if it may go on without them."""


WAITING_COUNT = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"


class Site(msgspec.Struct):
    """The machines, with their programs."""

    network: Network
    etcd: Machine
    shop_machines: list[Machine]
    shops: Shops

    @property
    def nodes(self) -> list[Node]:
        return self.shops.patroni.nodes

    def others(self, node: Node) -> list[Node]:
        return [each for each in self.nodes if each is not node]

    async def wait_for_leader(self, *, except_for: Node | None = None) -> Node:
        return await asyncio.to_thread(self.shops.patroni.wait_for_leader, except_for=except_for)

    async def wait_for_standbys(self) -> None:
        await asyncio.to_thread(self.shops.patroni.wait_for_standbys, 180)


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with run_network() as network:
        etcd, *machines = [network.add_machine(number) for number in range(2, 8)]
        databases, shop_machines = machines[:3], machines[3:]
        with run_patroni(etcd, databases) as patroni, run_shops(patroni, tmp_path_factory, shop_machines) as shops:
            yield Site(network, etcd, shop_machines, shops)


@pytest.fixture
async def site(whole_site: Site) -> AsyncIterator[Site]:
    """All machines are connected, and both standbys follow the leader."""
    await whole_site.wait_for_standbys()
    yield whole_site
    whole_site.network.heal()


async def wait_for_end_of_leadership(node: Node) -> float:
    """Returns the time at which a leader has stepped down."""

    async def has_stepped_down() -> bool:
        return await asyncio.to_thread(node.role) not in LEADER_ROLES

    await until(has_stepped_down, 60)
    return time.monotonic()


@asynccontextmanager
async def writing_to(node: Node) -> AsyncIterator[dict[UUID, float]]:
    """Writes to one server without a pause, whatever its role; yields the acknowledged rows with their times."""
    acknowledged: dict[UUID, float] = {}
    is_over = asyncio.Event()

    async def write() -> None:
        while not is_over.is_set():
            with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection = await asyncpg.connect(node.url, timeout=2)
                try:
                    while not is_over.is_set():
                        row_id = uuid4()
                        await connection.execute("insert into direct_writes values ($1)", row_id, timeout=2)
                        acknowledged[row_id] = time.monotonic()
                        await asyncio.sleep(0.02)
                finally:
                    connection.terminate()
            await asyncio.sleep(0.02)

    await asyncio.to_thread(
        fetch_value, node.url, "create table if not exists direct_writes (id uuid primary key)", "select 1"
    )

    async def has_written() -> bool:
        return bool(acknowledged)

    task = asyncio.create_task(write())
    try:
        await until(has_written)
        yield acknowledged
    finally:
        is_over.set()
        await task


async def count_lost_rows(node: Node, acknowledged: dict[UUID, float]) -> int:
    connection = await asyncpg.connect(node.url)
    try:
        rows = await connection.fetch("select id from direct_writes where id = any($1)", list(acknowledged))
    finally:
        await connection.close()
    return len(set(acknowledged) - {row["id"] for row in rows})


async def has_status(service: Service, path: str, status: int) -> bool:
    return (await asyncio.to_thread(service.get, path)).status_code == status


def longest_pause(load: Load) -> float:
    """The longest time between two acknowledged writes."""
    return max(after - before for before, after in zip(load.write_times, load.write_times[1:], strict=False))


async def wait_for_standby_names(leader: Node, names: str) -> None:
    async def have_changed() -> bool:
        current_names: str = await asyncio.to_thread(fetch_value, leader.url, "show synchronous_standby_names")
        return current_names == names

    await until(have_changed, 90)


async def wait_for_complete_standby(leader: Node) -> None:
    """Waits until a standby has all that the leader has written so far."""
    position = await asyncio.to_thread(fetch_value, leader.url, "select pg_current_wal_flush_lsn()::text")
    count = f"select count(*) from pg_stat_replication where flush_lsn >= '{position}'"

    async def is_complete() -> bool:
        return bool(await asyncio.to_thread(fetch_value, leader.url, count))

    await until(is_complete, 60)


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_leader_without_etcd_and_standbys_steps_down_and_loses_nothing(site: Site) -> None:
    """Clients still reach the old leader, so that two leaders would both be written to."""
    leader = await site.wait_for_leader()
    async with under_load(site.shops) as load, writing_to(leader) as direct_writes:
        start = time.monotonic()
        site.network.cut(leader.machine, site.etcd, *(node.machine for node in site.others(leader)))
        end_of_leadership = asyncio.create_task(wait_for_end_of_leadership(leader))
        new_leader = await site.wait_for_leader(except_for=leader)
        elected = time.monotonic()
        recovery = await load.wait_for_write(elected)
        stepped_down = await end_of_leadership
        # The old leader runs, and is still cut off.
        await load.wait_for_write(time.monotonic() + 2)
        site.network.heal()
        healed = time.monotonic()
        await site.wait_for_standbys()
        returned = time.monotonic()
    print(f"leader cut off: steps down after {stepped_down - start:.1f} s, next leader after {elected - start:.1f} s,")
    print(f"writes {recovery:.1f} s later; the old one follows {returned - healed:.1f} s after the repair;")
    print(f"its last acknowledgment {max(direct_writes.values()) - start:.1f} s after the cut")
    await assert_nothing_lost(site.shops, load)
    assert await count_lost_rows(new_leader, direct_writes) == 0
    assert max(direct_writes.values()) < elected
    assert stepped_down < elected
    assert recovery < WRITE_SECONDS


@pytest.mark.security("T-08", "X-11", "X-13")
async def test_a_leader_without_its_synchronous_standby_takes_the_other_one(site: Site) -> None:
    leader = await site.wait_for_leader()
    (lost, other) = sorted(site.others(leader), key=lambda node: node.role() != "sync_standby")
    async with under_load(site.shops) as load:
        start = time.monotonic()
        site.network.cut(lost.machine, site.etcd, leader.machine, other.machine, *site.shop_machines)
        await wait_for_standby_names(leader, other.name)
        decided = time.monotonic()
        recovery = await load.wait_for_write(decided)
        site.network.heal()
        await site.wait_for_standbys()
    print(f"synchronous standby cut off: another one after {decided - start:.1f} s, writes {recovery:.1f} s later")
    await assert_nothing_lost(site.shops, load)
    assert await site.wait_for_leader() is leader
    assert longest_pause(load) < STALL_SECONDS


@pytest.mark.security("T-08", "X-11", "X-13")
@pytest.mark.parametrize("is_strict", [False, True], ids=["not_strict", "strict"])
async def test_a_leader_without_standbys_goes_on_or_refuses_writes(site: Site, is_strict: bool) -> None:
    leader = await site.wait_for_leader()
    await asyncio.to_thread(site.shops.patroni.configure, leader, synchronous_mode_strict=is_strict)
    async with under_load(site.shops) as load:
        start = time.monotonic()
        for node in site.others(leader):
            site.network.cut(node.machine, site.etcd, leader.machine, *site.shop_machines)
        await wait_for_standby_names(leader, "*" if is_strict else "")
        decided = time.monotonic()
        if is_strict:
            await load.wait_for_refusals(decided, 6)
            waiting_count = await asyncio.to_thread(fetch_value, leader.url, WAITING_COUNT)
            print(f"strict: {waiting_count} server processes wait after {time.monotonic() - start:.1f} s")
            assert load.write_times[-1] < decided
        else:
            await load.wait_for_write(decided)
        site.network.heal()
        healed = time.monotonic()
        await wait_for_complete_standby(leader)
        complete = time.monotonic()
        recovery = await load.wait_for_write(complete)
        await site.wait_for_standbys()
    print(f"standbys cut off, strict={is_strict}: noticed after {decided - start:.1f} s, pause of writes")
    print(
        f"{longest_pause(load):.1f} s; a standby {complete - healed:.1f} s after the repair, writes {recovery:.1f} s on"
    )
    await asyncio.to_thread(site.shops.patroni.configure, leader, synchronous_mode_strict=None)
    await assert_nothing_lost(site.shops, load)
    assert await site.wait_for_leader() is leader
    assert is_strict or longest_pause(load) < STALL_SECONDS
    assert recovery < WRITE_SECONDS


@pytest.mark.security("X-05", "X-11")
async def test_a_shop_without_a_database_serves_the_catalog_and_the_other_one_writes(site: Site) -> None:
    machine, service = site.shop_machines[0], site.shops.services[0]
    async with under_load(site.shops) as load:
        # The proxy calls the shop by another name, for which it has other links.
        page = await asyncio.to_thread(service.get, CATALOG)
        start = time.monotonic()
        site.network.cut(machine, *(node.machine for node in site.nodes))
        await until(lambda: has_status(service, "/readyz", 503))
        noticed = time.monotonic()
        page_from_memory = await asyncio.to_thread(service.get, CATALOG)
        # By now the proxy sends writes to the other shop only.
        await load.wait_for_write(time.monotonic() + 10)
        refused_until = load.refusal_times[-1] if load.refusal_times else start
        site.network.heal()
        healed = time.monotonic()
        await until(lambda: has_status(service, "/readyz", 200))
        ready = time.monotonic()
    assert (page_from_memory.status_code, page_from_memory.content) == (200, page.content)
    print(f"shop cut off: not ready after {noticed - start:.1f} s, last refused write {refused_until - start:.1f} s,")
    print(f"longest pause of writes {longest_pause(load):.1f} s, ready {ready - healed:.1f} s after the repair")
    await assert_nothing_lost(site.shops, load)


@pytest.mark.security("T-08", "X-05", "X-13")
async def test_without_etcd_there_is_no_leader_and_the_catalog_is_served(site: Site) -> None:
    leader = await site.wait_for_leader()
    async with under_load(site.shops) as load:
        start = time.monotonic()
        site.network.cut(site.etcd, *(node.machine for node in site.nodes))
        stepped_down = await wait_for_end_of_leadership(leader)
        await load.wait_for_refusals(stepped_down, 20)
        assert load.write_times[-1] < stepped_down
        site.network.heal()
        healed = time.monotonic()
        await site.wait_for_leader()
        elected = time.monotonic()
        recovery = await load.wait_for_write(elected)
    print(f"etcd cut off: no leader after {stepped_down - start:.1f} s; {elected - healed:.1f} s after the repair one,")
    print(f"writes {recovery:.1f} s later")
    await assert_nothing_lost(site.shops, load)
    assert recovery < WRITE_SECONDS


def test_no_shop_has_been_restarted(whole_site: Site) -> None:
    assert [len(service.worker_pids()) for service in whole_site.shops.services] == [1, 1]
