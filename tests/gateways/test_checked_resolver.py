"""Lookups of host names: a name server that never answers blocks one thread and no other name."""

import asyncio
import threading

import pytest

from shop.gateways.checked_resolver import ThreadLookup


async def test_the_operating_system_resolves_names_and_unknown_names_are_errors() -> None:
    lookup = ThreadLookup()

    assert set(await lookup("localhost")) <= {"127.0.0.1", "::1"}
    with pytest.raises((OSError, UnicodeError)):
        await lookup("a" * 64)
    lookup.close()


async def test_lookups_of_one_name_share_a_thread_even_after_a_timeout() -> None:
    has_answer = threading.Event()
    calls = []

    def look_up(host: str) -> list[str]:
        calls.append(host)
        assert host == "fast.example" or has_answer.wait(20)
        return ["192.0.2.1"]

    lookup = ThreadLookup(look_up)
    for _ in range(20):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lookup("slow.example"), 0.001)
    assert await lookup("fast.example") == ["192.0.2.1"]
    assert calls == ["slow.example", "fast.example"]
    waiting = asyncio.gather(lookup("slow.example"), lookup("slow.example"))
    has_answer.set()

    assert list(await waiting) == [["192.0.2.1"], ["192.0.2.1"]]
    assert await lookup("slow.example") == ["192.0.2.1"]
    assert calls == ["slow.example", "fast.example", "slow.example"]
    lookup.close()
