"""The report: sections, each with its commit, and beside each row its target and the figure of the previous run.

`results.json` has the sections as they were measured last. A run replaces its own sections, so that the report can be
completed section by section.
"""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bench.targets import TARGETS

FOLDER = Path(__file__).parent
Figures = dict[str, float]
HEAD = """# Benchmark

`make bench` writes this page; [README.md](README.md) explains it. Each section is one run and names its commit and that of
the run before, whose figures are in the column `previous`. One worker, access log on, 2 cores shared with the load
generator and PostgreSQL, 16 connections, medians of interleaved rounds; a ratio is the median of the rounds' own. The floor
is `bench/floor.py`: a plain ASGI application on the same server with asyncpg's own pool, the fewest statements that are
still correct, no checks, no log. Absolute figures are this machine's; read the ratios and the CPU time.
"""


class Section(msgspec.Struct):
    """The result of a section: its lines, and the figures of its rows for the next run."""

    commit: str
    conditions: str
    lines: list[str] = []
    rows: dict[str, Figures] = {}
    previous_commit: str = ""
    previous_rows: dict[str, Figures] = {}

    def describe_target(self, name: str) -> str:
        return TARGETS.get(name, "")

    def describe_previous(self, name: str, *figures: str) -> str:
        row = self.previous_rows.get(name, {})
        return ", ".join(format_figure(row[figure]) for figure in figures if figure in row)


class Report:
    """The sections of all runs, in the order of the report."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._results, self._page = folder / "results.json", folder / "report.md"
        content = self._results.read_bytes() if self._results.exists() else b"{}"
        self.sections = msgspec.json.decode(content, type=dict[str, Section])

    def begin(self, name: str, commit: str, conditions: str) -> Section:
        """Returns a new section, with the figures of the last run of another commit."""
        last = self.sections.get(name)
        if last is None:
            return Section(commit, conditions)
        if last.commit == commit:
            return Section(commit, conditions, [], {}, last.previous_commit, last.previous_rows)
        return Section(commit, conditions, [], {}, last.commit, last.rows)

    def write(self, name: str, section: Section, order: Iterable[str]) -> None:
        """Replaces a section and writes both files."""
        self.sections[name] = section
        self.sections = {each: self.sections[each] for each in order if each in self.sections}
        self._results.write_bytes(msgspec.json.format(msgspec.json.encode(self.sections), indent=1) + b"\n")
        pages = [HEAD, *(_render(each, part) for each, part in self.sections.items())]
        self._page.write_text("\n".join(pages))


def _render(name: str, section: Section) -> str:
    previous = f" Previous run: {section.previous_commit}." if section.previous_commit else ""
    lines = "\n".join(section.lines).strip("\n")
    return f"## {name}\n\nCommit {section.commit}, {section.conditions}.{previous}\n\n{lines}\n"


def format_figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def list_figures(section: Section, figures: Mapping[str, float]) -> list[str]:
    """Returns a table of single figures, and keeps them for the next run."""
    lines = ["", "| | measured | target | previous |", "|---|--:|--:|--:|"]
    for name, value in figures.items():
        section.rows[name] = {"value": round(value, 4)}
        target, previous = section.describe_target(name), section.describe_previous(name, "value")
        lines.append(f"| {name} | {format_figure(value)} | {target} | {previous} |")
    return lines


def current_commit() -> str:
    """Returns the commit of the working tree, with a plus sign if its code has changed since."""
    run = ["git", "-C", str(FOLDER)]
    commit = subprocess.run([*run, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    changes = [*run, "status", "--porcelain", "--", "../src", "*.py"]
    has_changes = subprocess.run(changes, capture_output=True, text=True, check=False).stdout
    return f"{commit.strip()}{'+' if has_changes else ''}" if commit else "unknown"
