"""Writes the SBOM of a release (CycloneDX 1.6) from the locks: components with versions, hashes, licenses and uses."""

import hashlib
import json
import re
import uuid
from datetime import UTC, datetime
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

NAME = "shop-service"
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)(.*?)(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)
_LONGEST_LICENSE = 80
"""Longer texts are a whole license, not its name."""


def write_sbom(source: Path, file: Path, version: str, epoch: int, wheel: Path) -> None:
    """Describes the wheel and the locked packages. Those that only the extra `embedded` needs are optional."""
    run = (source / "requirements" / "run.txt").read_text()
    server_names = {name for name, _, _ in _ENTRY.findall((source / "requirements" / "server.txt").read_text())}
    # The build backend is locked too, but it is not installed with the wheel.
    builders = set(re.findall(r"^([A-Za-z0-9_-]+)", (source / "requirements" / "build.in").read_text(), re.MULTILINE))
    entries = [entry for entry in _ENTRY.findall(run) if entry[0].replace("-", "_") not in builders]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, _digest(wheel))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": _application(version, wheel),
        },
        "components": [_component(entry, is_optional=entry[0] not in server_names) for entry in entries],
        "dependencies": _dependencies(version, entries),
    }
    file.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


def _application(version: str, wheel: Path) -> dict[str, Any]:
    return {
        "type": "application",
        "bom-ref": purl(NAME, version),
        "name": NAME,
        "version": version,
        "purl": purl(NAME, version),
        "licenses": [{"expression": "MIT"}],
        "hashes": [{"alg": "SHA-256", "content": _digest(wheel)}],
    }


def _component(entry: tuple[str, str, str], *, is_optional: bool) -> dict[str, Any]:
    name, version, rest = entry
    address = purl(name, version)
    hashes = [{"alg": "SHA-256", "content": digest} for digest in re.findall(r"--hash=sha256:([0-9a-f]{64})", rest)]
    component = {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
        "scope": "optional" if is_optional else "required",
        # A version has several files, one for each platform, and each of them has a hash.
        "externalReferences": [{"type": "distribution", "url": address, "hashes": hashes}],
    }
    licenses = _licenses(name)
    return {**component, "licenses": licenses} if licenses else component


def _licenses(name: str) -> list[dict[str, Any]]:
    """Reads the licenses from the installed package; a package of another platform is not installed."""
    try:
        # Typed as a message of the standard library, whose `get` returns None for a missing header.
        header: Message = metadata.metadata(name)  # type: ignore[assignment]
    except metadata.PackageNotFoundError:
        return []
    if expression := header.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [str(line) for line in header.get_all("Classifier", []) if str(line).startswith("License ::")]
    names = [line.rpartition(" :: ")[2] for line in classifiers if line != "License :: OSI Approved"]
    text = str(header.get("License") or "").strip()
    if not names and text and len(text) <= _LONGEST_LICENSE:
        names = [text]
    return [{"license": {"name": license_name}} for license_name in names]


def _dependencies(version: str, entries: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Reads which package needs which from the comments of the lock."""
    address_by_name = {name: purl(name, pin) for name, pin, _ in entries} | {NAME: purl(NAME, version)}
    needs: dict[str, set[str]] = {address: set() for address in address_by_name.values()}
    for name, _, rest in entries:
        for user in re.findall(r"^ {4}# (?:via|  ) *([A-Za-z0-9._-]+)", rest, re.MULTILINE):
            if user in address_by_name:
                needs[address_by_name[user]].add(address_by_name[name])
    return [{"ref": address, "dependsOn": sorted(addresses)} for address, addresses in sorted(needs.items())]


def purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
