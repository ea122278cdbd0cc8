"""The cache of the shop's setup: its size is limited."""

from shop.base.caches.setup_cache import SetupCache


def test_a_result_is_returned_until_the_cache_is_full() -> None:
    cache = SetupCache("version")
    cache.keep("first", [1, 2])
    assert cache.find("first") == [1, 2]
    for number in range(SetupCache.MAX_RECORDS // 2):
        cache.keep(number, {number: number})
    assert cache.find("first") is None
    assert cache.find(SetupCache.MAX_RECORDS // 2 - 1) is not None


def test_nothing_found_and_results_that_are_too_large_are_not_kept() -> None:
    cache = SetupCache("version")
    cache.keep("nothing", None)
    cache.keep("much", list(range(SetupCache.MAX_RECORDS)))
    cache.keep("empty", [])
    assert [cache.find(key) for key in ("nothing", "much", "empty")] == [None, None, []]
