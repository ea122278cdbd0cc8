"""Two shops behind a proxy on a Patroni cluster: no acknowledged write is lost, and the catalog is always served."""

import asyncio
import signal
import time
from collections.abc import Iterator

import pytest

from tests.db.processes import until
from tests.journeys.patroni import Node, run_patroni
from tests.journeys.shops_under_load import WRITE_SECONDS, Shops, assert_nothing_lost, run_shops, under_load

pytestmark = pytest.mark.torture


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shops]:
    with run_patroni() as patroni, run_shops(patroni, tmp_path_factory) as shops:
        yield shops


def report(fault: str, seconds: float, recovery: float) -> None:
    print(f"{fault}: a new leader after {seconds:.1f} s, writes {recovery:.1f} s later")


async def fail_over(shops: Shops, fault: str) -> Node:
    """Ends the leader in one way, and asserts that the shop goes on with the next one."""
    leader = await asyncio.to_thread(shops.patroni.wait_for_leader)
    await asyncio.to_thread(shops.patroni.wait_for_standbys)
    async with under_load(shops) as load:
        start = time.monotonic()
        match fault:
            case "switch-over":
                await asyncio.to_thread(shops.patroni.switch_over, leader)
            case "killed leader":
                leader.kill()
            case "hung leader":
                leader.send(signal.SIGSTOP)
        await asyncio.to_thread(shops.patroni.wait_for_leader, except_for=leader)
        elected = time.monotonic()
        recovery = await load.wait_for_write(elected)
    report(fault, elected - start, recovery)
    await assert_nothing_lost(shops, load)
    assert recovery < WRITE_SECONDS
    return leader


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_planned_switch_over_loses_nothing(shops: Shops) -> None:
    await fail_over(shops, "switch-over")
    await asyncio.to_thread(shops.patroni.wait_for_standbys)


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_killed_leader_loses_nothing(shops: Shops) -> None:
    leader = await fail_over(shops, "killed leader")
    leader.start()
    await asyncio.to_thread(shops.patroni.wait_for_standbys)


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_hung_leader_loses_nothing(shops: Shops) -> None:
    leader = await fail_over(shops, "hung leader")
    leader.send(signal.SIGCONT)

    async def has_stepped_down() -> bool:
        return await asyncio.to_thread(leader.role) not in ("master", "primary")

    # The next test shows that nothing is written to it any more.
    await until(has_stepped_down)


async def test_a_killed_shop_fails_no_read(shops: Shops) -> None:
    async with under_load(shops) as load:
        shops.services[0].kill()
        await load.wait_for_write(time.monotonic() + 1)
    await assert_nothing_lost(shops, load)


def test_the_shop_has_not_been_restarted(shops: Shops) -> None:
    """After all failovers, the other shop still has its first worker."""
    assert len(shops.services[1].worker_pids()) == 1
