"""A PostgreSQL 15 cluster under Patroni and etcd on loopback; Debian has all of them as packages."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from shop.db.embedded_account import server_account
from tests.db.processes import accessible_dir
from tests.on_postgres_15 import BINARIES
from tests.programs import find_program
from tests.web.test_nginx import free_port

TTL_SECONDS = 20
"""How long a silent leader keeps its role; Patroni allows no less."""


class Node:
    """One PostgreSQL server with its Patroni."""

    def __init__(self, directory: Path, name: str, etcd_port: int) -> None:
        self.name, self.port, self.api_port = name, free_port(), free_port()
        self._directory = directory / name
        self._directory.mkdir()
        self._config = directory / f"{name}.json"
        self._config.write_text(json.dumps(self._settings(etcd_port)))
        self._process: subprocess.Popen[bytes] | None = None

    def _settings(self, etcd_port: int) -> dict[str, Any]:
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
            "restapi": _address("127.0.0.1", self.api_port),
            "etcd3": {"host": f"127.0.0.1:{etcd_port}"},
            "bootstrap": {"dcs": dcs, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}]},
            "postgresql": {
                **_address("127.0.0.1", self.port),
                "data_dir": str(self._directory / "data"),
                "bin_dir": str(BINARIES),
                "pgpass": str(self._directory / "pgpass"),
                "authentication": {"superuser": account, "replication": account, "rewind": account},
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": str(self._directory), "fsync": "off"},
            },
        }

    def start(self) -> None:
        account = server_account()
        user: dict[str, Any] = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        if account:
            os.chown(self._directory, account.pw_uid, account.pw_gid)
        with self._config.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [find_program("patroni"), str(self._config)], stdout=log, stderr=log, cwd="/", **user
            )

    def role(self) -> str:
        """`master`, `replica`, `sync_standby`, or an empty string without an answer."""
        with suppress(OSError, ValueError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api_port}/patroni", timeout=1) as response:
                status = json.load(response)
            if status.get("state") == "running":
                return "sync_standby" if status.get("sync_standby") else str(status["role"])
        return ""

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
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
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
        """Waits until one standby is synchronous and the other one follows."""
        end = time.monotonic() + seconds
        while sorted(node.role() for node in self.nodes)[-2:] != ["replica", "sync_standby"]:
            assert time.monotonic() < end, [node.role() for node in self.nodes]
            time.sleep(0.2)

    def switch_over(self, leader: Node) -> None:
        body = json.dumps({"leader": leader.name}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{leader.api_port}/switchover", body, headers)
        urllib.request.urlopen(request, timeout=60).close()


@contextmanager
def run_etcd(directory: Path) -> Iterator[int]:
    client_port, peer_port = free_port(), free_port()
    client_url, peer_url = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    command = [find_program("etcd"), "--data-dir", str(directory / "etcd"), "--name", "e", "--unsafe-no-fsync"]
    command += ["--listen-client-urls", client_url, "--advertise-client-urls", client_url]
    command += ["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url]
    command += ["--initial-cluster", f"e={peer_url}"]
    with (directory / "etcd.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield client_port
        finally:
            process.kill()
            process.wait(10)


@contextmanager
def run_patroni() -> Iterator[PatroniCluster]:
    with ExitStack() as stack:
        directory = stack.enter_context(accessible_dir())
        etcd_port = stack.enter_context(run_etcd(directory))
        nodes = [Node(directory, f"n{number}", etcd_port) for number in range(3)]
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
