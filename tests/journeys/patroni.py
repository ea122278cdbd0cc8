"""A PostgreSQL 15 cluster under Patroni and etcd, on loopback or on several machines; Debian has the packages."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from shop.db.embedded_account import server_account
from tests.db.processes import accessible_dir
from tests.journeys.networks import THIS_MACHINE, Machine
from tests.on_postgres_15 import BINARIES
from tests.programs import find_program
from tests.web.test_nginx import free_port

TTL_SECONDS = 20
"""How long a silent leader keeps its role; Patroni allows no less."""


class Node:
    """One PostgreSQL server with its Patroni."""

    def __init__(self, directory: Path, name: str, etcd_address: str, machine: Machine) -> None:
        self.name, self.machine, self.port, self.api_port = name, machine, free_port(), free_port()
        self._directory = directory / name
        self._directory.mkdir()
        self._config = directory / f"{name}.json"
        self._config.write_text(json.dumps(self._settings(etcd_address)))
        self._process: subprocess.Popen[bytes] | None = None

    def _settings(self, etcd_address: str) -> dict[str, Any]:
        """JSON is YAML, which Patroni reads."""
        account = {"username": "shop", "password": "secret"}
        dcs = {
            "ttl": TTL_SECONDS,
            "loop_wait": 1,
            "retry_timeout": 3,
            "synchronous_mode": True,
            "postgresql": {"use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}},
        }
        return {
            "scope": "shop",
            "name": self.name,
            "restapi": _address(self.machine.host, self.api_port),
            "etcd3": {"host": etcd_address},
            "bootstrap": {"dcs": dcs, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}]},
            "postgresql": {
                **_address(self.machine.host, self.port),
                "data_dir": str(self._directory / "data"),
                "bin_dir": str(BINARIES),
                "pgpass": str(self._directory / "pgpass"),
                "authentication": {"superuser": account, "replication": account, "rewind": account},
                "pg_hba": ["host all all samenet trust", "host replication all samenet trust"],
                "parameters": {"unix_socket_directories": str(self._directory), "fsync": "off"},
            },
        }

    def start(self) -> None:
        account = server_account()
        ids = {"uid": account.pw_uid, "gid": account.pw_gid} if account else {}
        if account:
            os.chown(self._directory, account.pw_uid, account.pw_gid)
        with self._config.with_suffix(".log").open("ab") as log:
            command = self.machine.command([find_program("patroni"), str(self._config)], **ids)
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")

    @property
    def api_url(self) -> str:
        return f"http://{self.machine.host}:{self.api_port}"

    @property
    def url(self) -> str:
        return f"postgresql://shop@{self.machine.host}:{self.port}/postgres?sslmode=disable"

    def status(self) -> dict[str, Any]:
        """What Patroni reports about this server; empty without an answer, and while the server does not run."""
        with suppress(OSError, ValueError):
            with urllib.request.urlopen(f"{self.api_url}/patroni", timeout=1) as response:
                status: dict[str, Any] = json.load(response)
            return status if status.get("state") == "running" else {}
        return {}

    def role(self) -> str:
        """`master`, `replica`, `sync_standby`, or an empty string without an answer."""
        status = self.status()
        return "sync_standby" if status.get("sync_standby") else str(status.get("role", ""))

    def streaming_names(self) -> set[str]:
        """The standbys that receive changes from this server."""
        standbys = self.status().get("replication", [])
        return {standby["application_name"] for standby in standbys if standby["state"] == "streaming"}

    def _pids(self) -> list[int]:
        assert self._process
        pids = [self._process.pid]
        file = self._directory / "data" / "postmaster.pid"
        with suppress(OSError, psutil.Error):
            postmaster = psutil.Process(int(file.read_text().split()[0]))
            pids += [postmaster.pid, *(child.pid for child in postmaster.children(recursive=True))]
        return pids

    def send(self, number: int) -> None:
        """Sends a signal to Patroni and all processes of PostgreSQL."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self._process
        self._process.wait(10)


def _address(host: str, port: int) -> dict[str, str]:
    return {"listen": f"{host}:{port}", "connect_address": f"{host}:{port}"}


class PatroniCluster:
    """Three nodes: a leader, a synchronous standby and another standby."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        hosts = ",".join(f"{node.machine.host}:{node.port}" for node in self.nodes)
        return f"postgresql://shop@{hosts}/postgres?sslmode=disable"

    def leader(self, *, except_for: Node | None = None) -> Node | None:
        nodes = [node for node in self.nodes if node is not except_for]
        return next((node for node in nodes if node.role() in ("master", "primary")), None)

    def wait_for_leader(self, *, except_for: Node | None = None, seconds: float = 90) -> Node:
        end = time.monotonic() + seconds
        while (leader := self.leader(except_for=except_for)) is None:
            assert time.monotonic() < end, "no node became the leader"
            time.sleep(0.05)
        return leader

    def wait_for_standbys(self, seconds: float = 90) -> None:
        """Waits until one standby is synchronous and both follow."""
        end = time.monotonic() + seconds
        while not self._has_standbys():
            assert time.monotonic() < end, [node.status() for node in self.nodes]
            time.sleep(0.2)

    def _has_standbys(self) -> bool:
        leader = self.leader()
        if leader is None:
            return False
        standbys = [node for node in self.nodes if node is not leader]
        # A server that was the leader is a replica before it follows the next one.
        is_following = leader.streaming_names() == {node.name for node in standbys}
        return is_following and sorted(node.role() for node in standbys) == ["replica", "sync_standby"]

    def switch_over(self, leader: Node) -> None:
        _send(leader, "POST", "/switchover", {"leader": leader.name})

    def configure(self, node: Node, **settings: Any) -> None:
        """Changes settings of the whole cluster."""
        _send(node, "PATCH", "/config", settings)


def _send(node: Node, method: str, path: str, body: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(node.api_url + path, json.dumps(body).encode(), headers, method=method)
    urllib.request.urlopen(request, timeout=60).close()


@contextmanager
def run_etcd(directory: Path, machine: Machine) -> Iterator[str]:
    """Runs etcd on a machine; yields its address."""
    address = f"{machine.host}:{free_port()}"
    client_url, peer_url = f"http://{address}", f"http://{machine.host}:{free_port()}"
    command = [find_program("etcd"), "--data-dir", str(directory / "etcd"), "--name", "e", "--unsafe-no-fsync"]
    command += ["--listen-client-urls", client_url, "--advertise-client-urls", client_url]
    command += ["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url]
    command += ["--initial-cluster", f"e={peer_url}"]
    with (directory / "etcd.log").open("wb") as log:
        process = subprocess.Popen(machine.command(command), stdout=log, stderr=log)
        try:
            yield address
        finally:
            process.kill()
            process.wait(10)


@contextmanager
def run_patroni(
    etcd_machine: Machine = THIS_MACHINE, machines: Sequence[Machine] = (THIS_MACHINE,) * 3
) -> Iterator[PatroniCluster]:
    with ExitStack() as stack:
        directory = stack.enter_context(accessible_dir())
        etcd_address = stack.enter_context(run_etcd(directory, etcd_machine))
        nodes = [Node(directory, f"n{number}", etcd_address, machine) for number, machine in enumerate(machines)]
        cluster = PatroniCluster(nodes)
        try:
            nodes[0].start()
            cluster.wait_for_leader()
            for node in nodes[1:]:
                node.start()
            cluster.wait_for_standbys()
            yield cluster
        finally:
            for node in nodes:
                with suppress(AssertionError, subprocess.TimeoutExpired):
                    node.kill()
