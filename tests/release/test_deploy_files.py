"""The files of `deploy/` name commands, settings, paths and references that exist, and harden what they run."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from shop import __version__
from shop.base.config.settings import read_settings
from shop.base.config.variables import VARIABLES
from shop.cli.main import shop
from tests.release.builds import ROOT
from tests.release.dockerfile import parse_instructions

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TIMERS = sorted((DEPLOY / "systemd").glob("*.timer"))
SETTINGS = {variable.name for variable in VARIABLES}
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
RESOURCES: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
PODS = {
    resource["metadata"]["name"]: resource["spec"]["template"]["spec"]
    for resource in RESOURCES
    if resource["kind"] in {"Deployment", "Job"}
}
SHOPS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}


def check_command(words: list[str]) -> None:
    """Parses the arguments as the command itself does; raises the error of an unknown command or option."""
    name, command, rest = shop.resolve_command(click.Context(shop), words)
    assert command
    command.make_context(name, list(rest))


def check_settings(settings: dict[str, Any]) -> None:
    """Every variable of the shop is known and can be read."""
    read_settings({name: str(value) for name, value in settings.items() if name.startswith("SHOP_")})


def find_resource(kind: str, name: str) -> dict[str, Any]:
    (resource,) = (one for one in RESOURCES if one["kind"] == kind and one["metadata"]["name"] == name)
    return resource


def read_unit(path: Path) -> list[tuple[str, str]]:
    lines = [line for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return [(line.partition("=")[0], line.partition("=")[2]) for line in lines]


def test_the_example_of_the_settings_can_be_read() -> None:
    text = (DEPLOY / "shop.env.example").read_text().replace("REPLACE_WITH_64_HEXADECIMAL_DIGITS", "5a" * 32)
    check_settings(dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#")))


def test_compose_runs_two_shops_a_worker_a_migration_a_proxy_and_a_database() -> None:
    commands = {name: service["command"] for name, service in SHOPS.items()}

    assert [command[0] for command in commands.values()] == ["migrate", "serve", "serve", "worker"]
    assert set(COMPOSE["services"]) == {*SHOPS, "postgres", "proxy"}
    for command in commands.values():
        check_command(command)


@pytest.mark.parametrize("name", SHOPS)
def test_a_shop_of_compose_is_hardened_and_its_settings_are_known(name: str) -> None:
    service = SHOPS[name]

    check_settings(service["environment"])
    assert (service["read_only"], service["cap_drop"], service["tmpfs"]) == (True, ["ALL"], ["/tmp"])
    assert service["image"] == f"shop-service:{__version__}"
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_the_references_of_compose_exist() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for mount in service.get("volumes", []):
            source = mount.partition(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).exists(), mount
    proxy = COMPOSE["services"]["proxy"]
    text = (ROOT / "docs" / "haproxy.cfg").read_text()
    for variable, address in proxy["environment"].items():
        assert f'"${{{variable}}}"' in text
        assert address.removesuffix(":8000") in SHOPS
    subnet = COMPOSE["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert {service["environment"]["SHOP_TRUSTED_PROXIES"] for service in SHOPS.values()} == {subnet}


def test_no_container_runs_the_health_check_of_a_server_if_it_does_not_serve() -> None:
    is_off = {name: service.get("healthcheck") == {"disable": True} for name, service in SHOPS.items()}

    assert is_off == {"migrate": True, "shop1": False, "shop2": False, "worker": True}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_of_kubernetes_is_hardened_and_its_settings_are_known(name: str) -> None:
    pod = PODS[name]
    (container,) = pod["containers"]

    check_command(container["args"])
    assert container["image"] == f"shop-service:{__version__}"
    check_settings(find_resource("ConfigMap", "shop-settings")["data"])
    assert {"secretRef": {"name": "shop-settings"}} in container["envFrom"]
    assert (pod["enableServiceLinks"], pod["automountServiceAccountToken"]) == (False, False)
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["volumeMounts"] == [{"name": pod["volumes"][0]["name"], "mountPath": "/tmp"}]


def test_the_probes_of_kubernetes_are_those_of_the_shop() -> None:
    (container,) = PODS["shop"]["containers"]
    drain = int(find_resource("ConfigMap", "shop-settings")["data"]["SHOP_DRAIN_SECONDS"])

    assert container["livenessProbe"]["httpGet"]["path"] == container["startupProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz?for=reads"
    assert PODS["shop"]["terminationGracePeriodSeconds"] > drain + 27, "a completion may take 27 s after the drain"


def test_a_disruption_leaves_shops_of_the_service() -> None:
    deployment, budget = find_resource("Deployment", "shop"), find_resource("PodDisruptionBudget", "shop")
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert budget["spec"]["selector"]["matchLabels"] == find_resource("Service", "shop")["spec"]["selector"] == labels
    assert 0 < budget["spec"]["minAvailable"] < deployment["spec"]["replicas"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_of_systemd_runs_a_command_with_known_settings(unit: Path) -> None:
    lines = read_unit(unit)
    options = dict(lines)
    program, *words = shlex.split(options["ExecStart"])

    assert program == "/opt/shop/bin/shop"
    check_command(words)
    check_settings(dict(part.split("=", 1) for part in options["Environment"].split()))
    assert (options["User"], options["NoNewPrivileges"], options["ProtectSystem"]) == ("shop", "yes", "strict")
    assert ("SystemCallFilter", "~@privileged @resources") in lines


@pytest.mark.torture
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_a_unit_and_calls_its_exposure_small(unit: Path, tmp_path: Path) -> None:
    """Needs systemd-analyze, of the package systemd. The program of the unit is not installed here."""
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/shop/bin/shop", "/bin/true"))

    verify = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    security = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", copy], capture_output=True, text=True, check=False
    )

    assert (verify.returncode, verify.stderr) == (0, "")
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", security.stdout)
    assert exposure
    assert float(exposure[1]) <= 1.2, security.stdout
    assert f"exposure of {exposure[1]}" in " ".join(unit.read_text().replace("\n# ", " ").split())


@pytest.mark.parametrize("timer", TIMERS, ids=lambda timer: timer.name)
def test_a_timer_starts_a_unit_that_ends(timer: Path) -> None:
    unit = dict(read_unit(timer.with_suffix(".service")))

    assert unit["Type"] == "oneshot"
    assert {"OnCalendar", "Persistent", "WantedBy"} <= set(dict(read_unit(timer)))


@pytest.mark.torture
@pytest.mark.parametrize("timer", TIMERS, ids=lambda timer: timer.name)
def test_systemd_accepts_a_timer(timer: Path, tmp_path: Path) -> None:
    """Needs systemd-analyze, of the package systemd."""
    for path in (timer, timer.with_suffix(".service")):
        (tmp_path / path.name).write_text(path.read_text().replace("/opt/shop/bin/shop", "/bin/true"))

    result = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / timer.name], capture_output=True, text=True, check=False
    )

    assert (result.returncode, result.stderr) == (0, "")


def test_the_container_has_no_root_and_only_known_settings() -> None:
    instructions = parse_instructions((DEPLOY / "Dockerfile").read_text())
    environ = dict(argument.split("=", 1) for keyword, argument in instructions if keyword == "ENV")

    check_settings(environ)
    assert [argument for keyword, argument in instructions if keyword == "USER"] == ["10001:10001"]
    assert "pgserver" not in (ROOT / "requirements" / "server.txt").read_text()
    assert f"shop-service:{__version__}" in (DEPLOY / "Dockerfile").read_text()


def test_the_context_of_the_container_has_every_file_that_it_copies() -> None:
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    context = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copies = [
        argument.split()[:-1]
        for keyword, argument in parse_instructions((DEPLOY / "Dockerfile").read_text())
        if keyword == "COPY" and "--from" not in argument
    ]

    names = {name for words in copies for name in words}
    assert {name.partition("/")[0] for name in names} == context
    assert all((ROOT / name).exists() for name in names)
