"""What runs the tests in several processes loses none of them, and hides nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PASSES = "def test_{n}():\n    pass\n"
FAILS = "def test_wrong():\n    print('what was seen')\n    assert 1 == 2\n"
EARLY = """
import sys

out = sys.stdout

def test_early():
    print("written to what was there", file=out)
    assert 3 == 4
"""
UNDONE = """
import pytest

@pytest.fixture(scope="session")
def kept():
    yield
    raise ValueError("not put away")

def test_keeps(kept):
    pass
"""
ENDS = "import os\n\ndef test_that_ends_it():\n    os._exit({code})\n"


def run(directory: Path, *options: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (directory / f"test_{name}.py").write_text(text)
    # Without the plugins of this suite it takes a third of the time.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.forks", "-p", "no:cacheprovider", "--forks", "2"]
    ended = subprocess.run(
        [*command, f"--rootdir={directory}", *options, str(directory)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_every_test_is_run_once_and_one_that_fails_is_shown_with_what_it_wrote(tmp_path: Path) -> None:
    many = {f"of_{file}": "".join(PASSES.format(n=n) for n in range(40)) for file in range(20)}
    code, text = run(tmp_path, wrong=FAILS, early=EARLY, **many)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 800 passed" in text
    assert "assert 1 == 2" in text
    assert "what was seen" in text
    assert "assert 3 == 4" in text
    assert "written to what was there" in text


@pytest.mark.torture
def test_what_cannot_be_put_away_at_the_end_is_an_error(tmp_path: Path) -> None:
    code, text = run(tmp_path, undone=UNDONE, fine=PASSES.format(n=1))
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 passed, 1 error" in text
    assert "not put away" in text


@pytest.mark.parametrize("code", [0, pytest.param(3, marks=pytest.mark.torture)])
def test_a_process_that_ends_within_a_test_fails_the_run_and_names_it(tmp_path: Path, code: int) -> None:
    ended, text = run(tmp_path, ends=ENDS.format(code=code), fine=PASSES.format(n=1))
    assert ended == pytest.ExitCode.TESTS_FAILED
    assert "a process ended in test_ends.py::test_that_ends_it" in text


@pytest.mark.torture
def test_it_stops_at_the_failures_it_was_told_to_stop_at(tmp_path: Path) -> None:
    many = "".join(FAILS.replace("wrong", f"wrong_{n}") for n in range(200))
    code, text = run(tmp_path, "--maxfail=1", one=many, two=many)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in text
