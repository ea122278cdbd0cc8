"""Machines of a test as network namespaces on one bridge; the link between any two of them can be cut. Needs root."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

DEAD_ADDRESS = "02:00:00:00:00:01"
"""A link-layer address that no machine has: packets to it are lost without an error, as on a cut line."""


class Machine(msgspec.Struct, frozen=True):
    """A machine with an address. Without a namespace it is this one."""

    host: str = "127.0.0.1"
    namespace: str = ""

    def command(self, arguments: Sequence[str], *, uid: int | None = None, gid: int | None = None) -> list[str]:
        """Returns the command that runs a program on this machine, under an account."""
        prefix = ["nsenter", f"--net=/run/netns/{self.namespace}"] if self.namespace else []
        if uid is not None and gid is not None:
            prefix = [*(prefix or ["nsenter"]), f"--setgid={gid}", f"--setuid={uid}"]
        return [*prefix, *arguments]


THIS_MACHINE = Machine()


class Network:
    """Machines on one bridge. This machine is on it too, and reaches all others, as an operator does."""

    def __init__(self, number: int, stack: ExitStack) -> None:
        self._number, self._stack = number, stack
        self._bridge = f"shopbr{number}"
        self.host = self._address(1)
        self._cuts: set[tuple[Machine, Machine]] = set()
        _run("link", "add", self._bridge, "type", "bridge")
        stack.callback(_try, "link", "del", self._bridge)
        _run("addr", "add", f"{self.host}/24", "dev", self._bridge)
        _run("link", "set", self._bridge, "up")

    def _address(self, number: int) -> str:
        """An address of the range for tests of networks, which is not routed."""
        return f"198.18.{self._number}.{number}"

    def add_machine(self, number: int) -> Machine:
        name, outer = f"shop-{self._number}-{number}", f"shop{self._number}v{number}"
        machine = Machine(self._address(number), name)
        _run("netns", "add", name)
        self._stack.callback(_try, "netns", "del", name)
        _run("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
        # A process that still runs would keep the namespace and the device.
        self._stack.callback(_try, "link", "del", outer)
        _run("link", "set", outer, "master", self._bridge, "up")
        _run("-n", name, "addr", "add", f"{machine.host}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run("-n", name, "link", "set", device, "up")
        return machine

    def cut(self, machine: Machine, *others: Machine) -> None:
        """Loses every packet between a machine and others, in both directions."""
        for other in others:
            self._cuts |= {(machine, other), (other, machine)}
            for source, target in ((machine, other), (other, machine)):
                neighbor = ("neigh", "replace", target.host, "lladdr", DEAD_ADDRESS, "nud", "permanent", "dev", "eth0")
                _run("-n", source.namespace, *neighbor)

    def heal(self) -> None:
        """Connects all machines again."""
        while self._cuts:
            source, target = self._cuts.pop()
            _run("-n", source.namespace, "neigh", "del", target.host, "dev", "eth0")


def _run(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


def _try(*arguments: str) -> None:
    with suppress(subprocess.SubprocessError):
        _run(*arguments)


@contextmanager
def run_network() -> Iterator[Network]:
    """A network without machines; at the end it is removed with all of them."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    used = {path.name for path in Path("/sys/class/net").iterdir()}
    number = next(number for number in range(256) if f"shopbr{number}" not in used)
    with ExitStack() as stack:
        yield Network(number, stack)
