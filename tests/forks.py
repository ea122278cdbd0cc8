"""`--forks N`: the tests are gathered once, and N copies of the process that knows them run them, file by file.

A process of its own for each would gather all of them again: that took more of the suite's time than any test.
"""

import os
import signal
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryFile
from typing import Any

import pytest

_FORK = get_context("fork")
_NUMBER = pytest.StashKey[int]()
_TURN = struct.Struct("H")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in this many processes; 0: in this one")


@pytest.fixture(scope="session")
def worker_name(request: pytest.FixtureRequest) -> str:
    """What no other process that runs tests is called."""
    return f"worker{request.config.stash.get(_NUMBER, '')}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("forks")
    if not count or session.config.option.collectonly or session.testsfailed:
        return None
    files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    turns = _queue(len(files))
    copies: dict[Connection, Any] = {}
    for number in range(count):
        heard, told = _FORK.Pipe(duplex=False)
        items = _taken(files, turns)
        copies[heard] = _FORK.Process(target=_run, args=(session, number, items, told, [*copies, heard]))
        copies[heard].start()
        told.close()
    os.close(turns)
    broken: list[str] = []
    try:
        _listen(session, list(copies), broken)
    finally:
        for heard in copies:
            heard.close()
        for copy in copies.values():
            copy.join()
    if broken:
        session.shouldfail = f"a process ended in {', another in '.join(broken)}"
        raise session.Failed(session.shouldfail)
    return True


def _queue(count: int) -> int:
    """A pipe out of which whoever is free reads which file is next."""
    turns, given = os.pipe()
    os.write(given, b"".join(map(_TURN.pack, range(count))))
    os.close(given)
    return turns


def _taken(files: list[list[pytest.Item]], turns: int) -> Iterator[pytest.Item]:
    while turn := os.read(turns, _TURN.size):
        yield from files[_TURN.unpack(turn)[0]]


def _run(
    session: pytest.Session, number: int, items: Iterator[pytest.Item], told: Connection, of_parent: list[Connection]
) -> None:
    """What a copy does: it tells what becomes of its tests, and writes nothing itself."""
    for connection in of_parent:
        # So that no copy goes on when there is nobody left to tell.
        connection.close()
    # Every run of a loop that finds the usual handler puts another in its place, which takes longer than most runs.
    signal.signal(signal.SIGINT, _interrupt)
    config = session.config
    config.stash[_NUMBER] = number
    config.pluginmanager.unregister(name="terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    _capture_alone(capture)
    config.pluginmanager.register(_Teller(config, told))
    try:
        # When nobody listens any more, there is no use in going on.
        with suppress(BrokenPipeError, KeyboardInterrupt):
            _run_all(config, items)
            told.send(None)
    finally:
        session._setupstate.teardown_exact(None)
        capture.stop_global_capturing()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _capture_alone(capture: Any) -> None:
    """Copies would write over each other in the files that they have in common. Whatever was loaded may hold on to
    these, so they stay, and are of one copy alone from here on.
    """
    for stream in (capture._global_capturing.out, capture._global_capturing.err):
        if hasattr(stream, "targetfd"):
            with TemporaryFile() as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())


def _run_all(config: pytest.Config, items: Iterator[pytest.Item]) -> None:
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


class _Teller:
    def __init__(self, config: pytest.Config, told: Connection) -> None:
        self._config, self._told = config, told

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._told.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._told.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _listen(session: pytest.Session, connections: list[Connection], broken: list[str]) -> None:
    """Until every copy has ended, or enough tests failed."""
    last: dict[Connection, str | None] = dict.fromkeys(connections, "its beginning")
    while last:
        ready: list[Any] = wait(last)
        for connection in ready:
            try:
                heard = connection.recv()
            except EOFError:
                if unfinished := last.pop(connection):
                    broken.append(unfinished)
                continue
            if isinstance(heard, dict):
                _log(session.config, heard)
            else:
                last[connection] = heard
            if session.shouldfail:
                raise session.Failed(session.shouldfail)


def _log(config: pytest.Config, heard: dict[str, Any]) -> None:
    report = config.hook.pytest_report_from_serializable(config=config, data=heard)
    config.hook.pytest_runtest_logreport(report=report)
    if report.when == "teardown":
        config.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
