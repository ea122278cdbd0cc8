"""Installs extensions for a test into a directory of its own, without a change to the environment of the tests."""

import os
import subprocess
from pathlib import Path

from tests.service import SHOP, InstalledService, clean_environ

ROOT = Path(__file__).parent.parent.parent
LOYALTY = ROOT / "examples" / "loyalty" / "loyalty"
FAULTY = Path(__file__).parent / "faulty.py"
PAY = Path(__file__).parent / "pay.py"


def install(directory: Path, name: str, source: Path, entry: str) -> None:
    """Makes a package importable from the directory, with the metadata that an installer writes."""
    (directory / source.name).symlink_to(source)
    metadata = directory / f"shop_{name}-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: shop-{name}\nVersion: 1.0.0\n")
    (metadata / "entry_points.txt").write_text(f"[shop.extensions]\n{name} = {entry}\n")


def install_loyalty(directory: Path) -> None:
    install(directory, "loyalty", LOYALTY, "loyalty.extension:EXTENSION")


def install_faulty(directory: Path) -> None:
    install(directory, "faulty", FAULTY, "faulty:EXTENSION")


def install_pay(directory: Path) -> None:
    install(directory, "pay", PAY, "pay:EXTENSION")


def python_path(directory: Path) -> str:
    return os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])


class ExtendedService(InstalledService):
    """A shop with the extensions of a directory."""

    def __init__(self, directory: Path, *arguments: str, **environ: str) -> None:
        super().__init__(*arguments, PYTHONPATH=python_path(directory), **environ)


def run_shop(directory: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the shop with the extensions of a directory."""
    variables = clean_environ(PYTHONPATH=python_path(directory), **environ)
    return subprocess.run([SHOP, *arguments], env=variables, capture_output=True, text=True, timeout=240, check=False)
