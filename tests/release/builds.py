"""Builds a release of the working tree in a temporary directory."""

import shutil
from pathlib import Path

from tools.release import build

ROOT = Path(__file__).parents[2]
EPOCH = 1_790_000_000
_FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
_FOLDERS = ("src", "requirements", "deploy")


def copy_source(destination: Path) -> None:
    """Copies what the build reads, with new file times, as a checkout has."""
    destination.mkdir(parents=True)
    for name in _FILES:
        shutil.copyfile(ROOT / name, destination / name)
    for name in _FOLDERS:
        shutil.copytree(
            ROOT / name,
            destination / name,
            copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__"),
        )


def build_release(directory: Path) -> Path:
    """Returns the directory of the built files."""
    out = directory / "dist"
    copy_source(directory / "source")
    out.mkdir()
    build(directory / "source", EPOCH, out)
    return out
