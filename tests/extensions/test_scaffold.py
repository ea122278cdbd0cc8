"""`shop extension new`: the generated package is complete, and its tests pass."""

import subprocess
import sys
from pathlib import Path

import pytest

from shop.cli.extensions.boundary import list_foreign_imports
from tests.cli.command import Command
from tests.extensions.packages import ROOT, install, python_path, run_shop
from tests.service import SHOP, clean_environ


def generate(shop: Command, directory: Path) -> Path:
    result = shop("extension", "new", "reviews", "--dir", str(directory))
    assert result.returncode == 0, result.stderr
    return directory / "shop-reviews"


def test_the_package_imports_only_the_interface_and_is_formatted(shop: Command, tmp_path: Path) -> None:
    package = generate(shop, tmp_path)
    files = sorted(package.rglob("*.py"))
    checks = [
        subprocess.run(
            [SHOP.parent / "ruff", *arguments, "--config", ROOT / "pyproject.toml", package],
            capture_output=True,
            text=True,
            check=False,
        )
        for arguments in (["format", "--check"], ["check", "--ignore", "S,TID"])
    ]

    assert len(files) >= 8
    assert [error for path in files for error in list_foreign_imports(path)] == []
    assert [(check.returncode, check.stdout) for check in checks if check.returncode] == []


def test_a_folder_that_exists_and_a_wrong_name_are_refused(shop: Command, tmp_path: Path) -> None:
    generate(shop, tmp_path)
    again = shop("extension", "new", "reviews", "--dir", str(tmp_path))
    wrong = shop("extension", "new", "../x", "--dir", str(tmp_path))

    assert "exists already" in again.stderr
    assert "2 to 20 lower-case letters and digits" in wrong.stderr


@pytest.mark.torture
def test_the_tests_of_the_package_pass(shop: Command, tmp_path: Path) -> None:
    package = generate(shop, tmp_path)
    install(tmp_path, "reviews", package / "shop_reviews", "shop_reviews.extension:EXTENSION")

    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", package / "tests"],
        env=clean_environ(PYTHONPATH=python_path(tmp_path)),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=package,
    )

    assert result.returncode == 0, result.stdout


@pytest.mark.torture
def test_the_example_passes_the_checks(tmp_path: Path) -> None:
    install(tmp_path, "loyalty", ROOT / "examples/loyalty/loyalty", "loyalty.extension:EXTENSION")

    result = run_shop(tmp_path, "extension", "check", "loyalty")

    assert result.returncode == 0, result.stderr
    assert result.stdout.count("  ok ") == 3
