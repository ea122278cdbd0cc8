"""`make bench BASE=<commit>`: which difference is a regression, and that a commit can be compared with itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.compare import compare
from bench.report import Report, list_figures

ROOT = Path(__file__).parent.parent
TABLE_HEAD = "| | measured | target | previous |\n|---|--:|--:|--:|\n"
CALM, NOISY = [100.0, 101.0, 100.0, 99.0, 100.0], [100.0, 108.0, 93.0, 107.0, 92.0]


@pytest.mark.parametrize(
    ("again", "factor", "verdict"),
    [
        (CALM, 1.0, "same"),
        (CALM, 0.9, "better"),
        (CALM, 1.02, "within 3 %"),
        (CALM, 1.06, "worse"),
        (NOISY, 1.06, "same"),
        (NOISY, 1.20, "worse"),
    ],
)
def test_worse_means_three_percent_beyond_the_noise_of_the_base(
    again: list[float], factor: float, verdict: str
) -> None:
    base = [100.0] * len(again)

    assert compare(base, again, [factor * 100.0] * len(again)).word == verdict


def test_an_additional_statement_is_worse() -> None:
    assert compare([3.0], [3.0], [4.0]).is_worse


def test_a_run_replaces_only_its_section_and_shows_the_figure_of_the_commit_before(tmp_path: Path) -> None:
    for commit, milliseconds in (("aaa", 55.0), ("bbb", 30.0), ("bbb", 24.0)):
        report = Report(tmp_path)
        for name in ("checkout", "idle") if commit == "aaa" else ("checkout",):
            section = report.begin(name, commit, "1 round")
            section.lines += list_figures(section, {"guest's 7 requests, one after another, ms": milliseconds})
            report.write(name, section, ("checkout", "idle"))

    page = (tmp_path / "report.md").read_text()
    row = "| guest's 7 requests, one after another, ms"
    assert (
        f"## checkout\n\nCommit bbb, 1 round. Previous run: aaa.\n\n{TABLE_HEAD}{row} | 24.00 | ≤ 25 | 55.00 |\n"
        in page
    )
    assert f"## idle\n\nCommit aaa, 1 round.\n\n{TABLE_HEAD}{row} | 55.00 | ≤ 25 |  |\n" in page


@pytest.mark.torture
def test_a_commit_compared_with_itself_is_the_same() -> None:
    command = [sys.executable, "-m", "bench.compare", "HEAD", "--rounds", "1", "--only", "cart read"]

    result = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)

    rows = [line.split(" | ") for line in result.stdout.splitlines() if line.startswith("| cart read")]
    assert [row[0] for row in rows] == ["| cart read", "| cart read, 5 lines"], result.stdout + result.stderr
    # Figures depend on the machine; statements do not.
    assert [row[-1] for row in rows] == ["same |", "same |"]
