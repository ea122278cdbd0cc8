"""Which test runs each command of the documentation, and why others are not run; run as a module, it writes
docs/generated/commands.md.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "generated" / "commands.md"
_LANGUAGES = {"", "sh"}
_TRANSCRIPTS = {"console", "text"}
"""The languages of blocks with commands, which follow `$`, and their output."""
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"\s+# .*$|^\s*#.*$", re.MULTILINE)
_SUITE = "not run: the suite does not run itself"
_SERVING = "not run: it serves until it is stopped; a test checks the commands that make runs, others run `shop serve`"
_ROOT = "not run: it changes the machine; run by hand in a Debian root for the transcript"
_UNITS = "not run: the tests have no init system; `systemd-analyze verify` accepts the units"
_DOCKER = (
    "not run: the tests have no container engine; run by hand for the transcript; tests/release replays the "
    "Dockerfile, and parses the commands, settings and references of compose.yaml"
)
_COMPOSE = "not run: the tests have no Compose; run by hand for the transcript"
_COMPOSE_2 = "not run: Debian has only Compose 1.29, whose commands were run by hand for the transcript"
_KUBERNETES = "not run: the tests have no cluster; tests/release checks commands, settings, probes and references"
_PIPX = "not run: run by hand for the transcript; it installs as `uv tool install` does"
_UNPUBLISHED = "not run: the package is not published yet"
_PREPARATION = "not run: it only prepares a file or a directory"
_INSTALLED = "not run: a test adds the package to the path instead of changing the environment"
_MEASURING = "not run: it measures for minutes; its results are in the page"
_TREE = "not run: it changes the working tree"
_IN_TEXT = re.compile(r"`((?:shop|make|python -m|\.venv/bin/[^\s`]+) [a-zA-Z-][^`]*)`")

PASTED = {
    ("README.md", 0): "tests/test_docs.py",
    ("README.md", 1): "tests/test_docs.py",
    ("README.md", 2): "tests/demo/test_demo.py",
    ("docs/backup.md", 4): "tests/backups/test_point_in_time.py",
    ("docs/backup.md", 5): "tests/backups/test_point_in_time.py",
    ("docs/backup.md", 6): "tests/backups/test_point_in_time.py",
    ("docs/import.md", 0): "tests/test_docs.py",
    ("docs/pages.md", 0): "tests/test_docs.py",
    ("docs/pages.md", 1): "tests/test_docs.py",
}
"""The blocks `sh` that a test runs as they are, by page and number."""

COMMANDS = {
    "README.md": {
        "make run": _SERVING,
        "make test": _SUITE,
        "pipx install": _PIPX,
        'pipx install "shop-service[embedded]"': _UNPUBLISHED,
        "uv tool install": "tests/release/test_wheel.py",
        "shop serve --demo": "tests/release/test_wheel.py",
    },
    "CONTRIBUTING.md": {
        "make run": _SERVING,
        "make release": "tests/release/test_release.py",
        **dict.fromkeys(("make test", "make check", "make torture"), _SUITE),
        "make format": _TREE,
    },
    "CHANGELOG.md": {"shop psql": "tests/journeys/test_previous_version.py"},
    "docs/backup.md": {
        "shop backup": "tests/backups/test_backup.py",
        "shop backup --verify": "tests/backups/test_round_trip.py",
        "shop backup --with-keys": "tests/backups/test_backup.py",
        "shop restore": "tests/backups/test_restore.py",
        "shop restore latest --keys": "tests/backups/test_restore.py",
        "shop psql": "tests/cli/test_psql.py",
        "cd": _PREPARATION,
        **dict.fromkeys(("install", "systemctl"), _UNITS),
    },
    "docs/clients.md": {
        "cat": _PREPARATION,
        "openapi-python-client": "tests/journeys/test_generated_clients.py",
        "npx openapi-typescript": "tests/journeys/test_generated_clients.py",
        "npx @hey-api/openapi-ts": "tests/journeys/test_generated_clients.py",
    },
    "docs/deploying.md": {
        "sha256sum --check": "tests/release/test_release.py",
        "pipx install": _PIPX,
        "uv tool install": "tests/release/test_wheel.py",
        "shop --version": "tests/release/test_wheel.py",
        "shop serve --demo": "tests/release/test_wheel.py",
        "shop serve": "tests/release/test_wheel.py",
        "systemd-analyze": "tests/release/test_deploy_files.py",
        **dict.fromkeys(("python3 -m venv", "/opt/shop-0.3.0/bin/pip"), "not run: the Dockerfile has the same steps"),
        **dict.fromkeys(("ln", "useradd", "install", "systemctl", "journalctl"), _ROOT),
        "docker": _DOCKER,
        "docker compose": _COMPOSE_2,
        **dict.fromkeys(("docker-compose", "sed", "sort", "curl"), _COMPOSE),
        "kubectl": _KUBERNETES,
        **dict.fromkeys(("cd", "cp", "chmod", "mkdir", "python3 -c"), _PREPARATION),
    },
    "docs/extensions.md": {
        "shop extension new": "tests/extensions/test_scaffold.py",
        "shop extension check": "tests/extensions/test_scaffold.py",
        "shop extension list": "tests/extensions/test_lifecycle.py",
        "shop migrate": "tests/extensions/test_lifecycle.py",
        "shop doctor": "tests/cli/test_commands.py",
        "shop serve --demo": "tests/release/test_wheel.py",
        "pip install -e": _INSTALLED,
    },
    "docs/moving.md": {
        "shop export --all": "tests/shop_files/test_imports.py",
        "shop import --all": "tests/shop_files/test_imports.py",
    },
    "examples/loyalty/README.md": {
        "pip install": _INSTALLED,
        "shop migrate": "tests/extensions/test_lifecycle.py",
        "shop serve": "tests/extensions/test_lifecycle.py",
    },
    "docs/payments.md": {"curl": "tests/storefront/payments/test_test_card.py"},
    "docs/theming.md": {"SHOP_THEME_DIR=": "tests/website/test_theming.py"},
    "docs/transcripts/extension.md": {
        "shop extension new": "tests/extensions/test_scaffold.py",
        "shop extension check": "tests/extensions/test_scaffold.py",
        "shop extension list": "tests/extensions/test_lifecycle.py",
        "shop extension remove": "tests/extensions/test_lifecycle.py",
        "shop migrate": "tests/extensions/test_lifecycle.py",
        "shop export --all": "tests/shop_files/test_imports.py",
        "shop verify": "tests/cli/test_verify.py",
        "SHOP_X_REVIEWS_NOTES=3 shop serve": "not run: the tests start it with settings of other extensions",
        **dict.fromkeys(("pip install", "pip uninstall"), _INSTALLED),
        **dict.fromkeys(("find", "unzip", "curl"), "not run: it only shows what the commands before it made"),
    },
    "docs/upgrading.md": {
        "shop backup": "tests/backups/test_backup.py",
        "shop upgrade": "tests/test_online_migrations.py",
        "shop upgrade --rehearse": "tests/test_online_migrations.py",
        "shop migrate --plan": "tests/test_online_migrations.py",
        "shop migrate": "tests/test_online_migrations.py",
        "shop serve": "tests/journeys/test_previous_version.py",
        "shop verify": "tests/journeys/test_previous_version.py",
        "sort": "not run: it only counts the answers that the client of the transcript noted",
        "systemctl": _UNITS,
    },
}
"""The other commands, by page and beginning: the test that runs it, or the reason why none does."""

IN_TEXT = {
    "make run": _SERVING,
    "make install": "not run: it installs into the environment of the suite; every run of CI begins with it",
    **dict.fromkeys(("make test", "make check", "make torture"), _SUITE),
    **dict.fromkeys(("make format", "make migration", "make security", "make compatibility"), _TREE),
    "make release": "tests/release/test_release.py",
    **dict.fromkeys(("make bench", "python -m bench", ".venv/bin/python -m bench"), _MEASURING),
    ".venv/bin/python -m bench.compare": "tests/test_bench.py",
    ".venv/bin/python -m pytest": _SUITE,
    **dict.fromkeys((".venv/bin/python -m tests.", "python -m tests."), _TREE),
    ".venv/bin/shop routes": _TREE,
    "shop --version": "tests/release/test_wheel.py",
    "shop admin": "tests/cli/test_admin.py",
    "shop admin create": "tests/cli/test_admin.py",
    **dict.fromkeys(("shop admin list", "shop admin disable"), "tests/admin/access/test_emergency_commands.py"),
    "shop app create": "tests/test_docs.py",
    **dict.fromkeys(("shop app list", "shop app revoke"), "tests/admin/access/test_emergency_commands.py"),
    "shop archive run": "tests/archive/test_archive.py",
    "shop archive show": "tests/archive/test_crashes.py",
    "shop archive restore": "tests/archive/test_archive.py",
    "shop archive verify": "tests/archive/test_lists.py",
    "shop backup": "tests/backups/test_backup.py",
    "shop backup --verify": "tests/backups/test_round_trip.py",
    "shop backup --remove-old": "tests/backups/test_backup.py",
    "shop doctor": "tests/cli/test_commands.py",
    "shop export": "tests/cli/test_bulk.py",
    "shop export --all": "tests/shop_files/test_imports.py",
    "shop extension check": "tests/extensions/test_scaffold.py",
    "shop extension list": "tests/extensions/test_lifecycle.py",
    "shop extension new": "tests/extensions/test_scaffold.py",
    "shop extension remove": "tests/extensions/test_lifecycle.py",
    "shop import": "tests/cli/test_bulk.py",
    "shop import --all": "tests/shop_files/test_imports.py",
    "shop keys list": "tests/cli/test_keys.py",
    "shop keys retire": "tests/cli/test_keys.py",
    "shop keys rotate": "tests/cli/test_keys.py",
    "shop keys void-before": "tests/admin/access/test_keys_void_before.py",
    "shop migrate": "tests/cli/test_commands.py",
    "shop psql": "tests/cli/test_psql.py",
    "shop restore": "tests/backups/test_restore.py",
    "shop routes": "tests/cli/test_commands.py",
    "shop serve": "tests/release/test_wheel.py",
    "shop sessions end": "tests/admin/access/test_emergency_commands.py",
    "shop stress": "tests/cli/test_stress.py",
    "shop upgrade": "tests/test_online_migrations.py",
    "shop verify": "tests/cli/test_verify.py",
    "shop worker": "tests/mail/test_delivery.py",
}
"""The commands within sentences and tables, by beginning."""


class DocumentedCommand(msgspec.Struct, frozen=True):
    """A command of a page, and who runs it; None if it is not listed."""

    page: str
    text: str
    run_by: str | None


def list_pages() -> list[Path]:
    return [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
        *(ROOT / name for name in ("bench/README.md", "examples/loyalty/README.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def list_commands() -> list[DocumentedCommand]:
    return [
        command for page in list_pages() for command in find_commands(str(page.relative_to(ROOT)), page.read_text())
    ]


def list_commands_in_text() -> list[DocumentedCommand]:
    """Returns the commands within sentences and tables, each once, with the first page that names it."""
    pages = {str(page.relative_to(ROOT)): page.read_text() for page in list_pages() if page != PAGE}
    command_by_text: dict[str, DocumentedCommand] = {}
    for page, text in pages.items():
        for match in _IN_TEXT.findall(_BLOCK.sub("", text)):
            command = " ".join(match.split()).replace("\\|", "|")
            command_by_text.setdefault(command, DocumentedCommand(page, command, _find_longest(IN_TEXT, command)))
    return sorted(command_by_text.values(), key=lambda each: each.text)


def find_commands(page: str, text: str) -> Iterator[DocumentedCommand]:
    """Yields the commands of a page; a block that a test runs as it is counts as one."""
    sh_count = 0
    for _, language, block in _BLOCK.findall(text):
        if language not in _LANGUAGES | _TRANSCRIPTS:
            continue
        if language == "sh":
            sh_count += 1
            if test := PASTED.get((page, sh_count - 1)):
                yield DocumentedCommand(page, block.strip().splitlines()[0] + " …", test)
                continue
        for line in _split(block, has_output=language in _TRANSCRIPTS):
            yield DocumentedCommand(page, line, find_runner(page, line))


def _split(block: str, *, has_output: bool) -> Iterator[str]:
    """Yields each command: continued lines are joined, and those of a here-document belong to its command."""
    lines = re.sub(r"<<'?(\w+)'?\n.*?^\1$", "", block.replace("\\\n", " "), flags=re.DOTALL | re.MULTILINE).splitlines()
    if has_output:
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        yield from filter(None, (part.strip() for part in _COMMENT.sub("", line).split(" && ")))


def find_runner(page: str, command: str) -> str | None:
    return _find_longest(COMMANDS.get(page, {}), command)


def _find_longest(runners: dict[str, str], command: str) -> str | None:
    beginnings = [each for each in runners if command.startswith(each)]
    return runners[max(beginnings, key=len)] if beginnings else None


def write_page() -> str:
    """The text of docs/generated/commands.md."""
    return "\n".join(
        [
            "# Commands of the documentation\n",
            "Every command of README.md, CONTRIBUTING.md, CHANGELOG.md, `docs/`, the benchmark and the example, and",
            "the test that runs it; of a block that a test runs as it is, the first line.\n",
            "Written by `.venv/bin/python -m tests.documented_commands`.\n",
            "## Run by tests\n",
            *_write_table(list_commands(), is_run=True),
            "\n## Not run\n",
            *_write_table(list_commands(), is_run=False),
            "\n## Within sentences and tables, run by tests\n",
            *_write_table(list_commands_in_text(), is_run=True),
            "\n## Within sentences and tables, not run\n",
            *_write_table(list_commands_in_text(), is_run=False),
            "",
        ]
    )


def _write_table(commands: list[DocumentedCommand], *, is_run: bool) -> list[str]:
    rows = [f"| page | command | {'run by' if is_run else 'not run, because'} |", "|---|---|---|"]
    for command in dict.fromkeys(commands):
        runner = command.run_by or ""
        if runner.startswith("tests/") == is_run:
            reason = f"`{runner}`" if is_run else runner.removeprefix("not run: ")
            rows.append(f"| {command.page} | `{command.text.replace('|', chr(92) + '|')}` | {reason} |")
    return rows


if __name__ == "__main__":
    PAGE.write_text(write_page())
