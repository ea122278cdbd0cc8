"""README and docs are right: their commands run, their links lead somewhere, their tables match the code."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shop import __version__
from shop.base.config.variables import VARIABLES
from shop.base.crypto.order_tokens import ORDER_TOKEN_PATTERN
from shop.cli.access.credentials import credential_page
from shop.cli.main import shop as commands
from shop.cli.routes import every_route
from tests import documented_commands, security_rules, shard_statements
from tests.builders import Make
from tests.service import SHOP, Service

ROOT = Path(__file__).parent.parent
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")),
    CONTRIBUTING,
    *sorted((ROOT / "docs").rglob("*.md")),
]


def paste(number: int, service: Service, page: str = "README.md", **variables: str) -> list[Any]:
    """Runs the commands of a page against this shop, and returns the JSON documents that they print."""
    commands_text = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[number]
    script = commands_text.replace("http://127.0.0.1:8000", service.url).replace(".venv/bin/shop", str(SHOP))
    out = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**service.environ, **variables},
    )
    assert out.returncode == 0, out.stderr
    documents, rest = [], out.stdout
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        documents.append(document)
        rest = rest[end:].lstrip()
    return documents


def test_the_platform_commands_of_the_readme_work_as_pasted(service: Service) -> None:
    orders, user = paste(1, service)

    assert {order["attributes"]["state"] for order in orders["data"]} <= {"cart"}
    assert user["data"]["attributes"]["first_name"] == "Grace"


def test_the_storefront_commands_of_the_readme_work_as_pasted(service: Service) -> None:
    documents = paste(0, service)

    whole, part, euro, again, deletion_status, notice, account, user_cart, sessions, sign_out = documents
    assert whole["data"]["attributes"]["state"] == "cart"
    attributes = {"number": whole["data"]["attributes"]["number"], "state": "cart", "display_total": "$0.00"}
    assert part["data"]["attributes"] == attributes
    assert euro["data"]["attributes"]["currency"] == "EUR"
    assert again == euro
    assert deletion_status == 204
    assert list(notice) == ["message"]
    assert account["data"]["attributes"]["first_name"] == "Ada"
    assert user_cart["data"]["relationships"]["user"]["data"]["id"] == account["data"]["id"]
    assert [session["attributes"]["current"] for session in sessions["data"]] == [True]
    assert sign_out == {}


@pytest.mark.torture
def test_the_import_commands_work_as_pasted(service: Service) -> None:
    products, prices, again = paste(0, service, "docs/import.md")

    assert (products["created"] + products["unchanged"], products["failed"]) == (1, 1)
    assert list(products["errors"][0]["errors"]) == ["colour"]
    assert prices["failed"] == 0
    assert (again["lines"], again["dry_run"]) == (again["unchanged"], True)


def test_the_commands_of_the_banner_work_as_pasted(service: Service) -> None:
    banner = "".join(service.lines)
    commands = "\n".join(line.strip() for line in banner.splitlines() if "curl" in line)

    out = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands], capture_output=True, text=True, timeout=60, check=True
    )

    assert json.loads(out.stdout)["data"]["type"] == "cart"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_file_named_in_a_page_exists(page: Path) -> None:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in link or (page.parent / link).exists(), link
    for name in re.findall(
        r"`((?:bench|docs|tests|src|storefront|web|db|actions|jsonapi|base)/[\w/.]+\.(?:py|md))`", text
    ):
        assert (ROOT / name).exists() or (ROOT / "src" / "shop" / name).exists(), name


def test_every_path_named_in_contributing_exists() -> None:
    """The example adds `brands`, so that its own files do not exist; `<chapter>` stands for any folder."""
    quoted = " ".join(re.findall(r"`([^`\n]+)`", CONTRIBUTING.read_text()))
    paths = {path for path in re.findall(r"[\w.<>-]+/[\w./<>-]*", quoted) if "brands" not in path}

    folders = (ROOT, ROOT / "src" / "shop", ROOT / "src" / "shop" / "migrations" / "versions")
    assert len(paths) > 40
    assert [
        path
        for path in sorted(paths)
        if path.split("/")[0] != ".venv"
        and not any(any(folder.glob(path.replace("<chapter>", "*").rstrip("/"))) for folder in folders)
    ] == []


def test_every_migration_and_section_named_in_contributing_exists() -> None:
    text = CONTRIBUTING.read_text()
    sections = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    versions = ROOT / "src" / "shop" / "migrations" / "versions"

    assert {link for link in re.findall(r"\]\(#([^)]+)\)", text) if link not in sections} == set()
    assert [name for name in re.findall(r"`(\d{4}_\w+\.py)`", text) if not (versions / name).exists()] == []


def test_every_make_target_named_in_contributing_exists() -> None:
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", CONTRIBUTING.read_text(), re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()

    assert {"run", "test", "check", "migration"} <= targets
    assert [target for target in sorted(targets) if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_the_table_of_settings_matches_the_code() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `(SHOP_\w+)` \| (.*?) \| (.*) \|$", text, re.MULTILINE)

    assert rows == [(row.name, f"`{row.default}`" if row.default else "unset", row.meaning) for row in VARIABLES]


def test_the_table_of_credentials_matches_the_routes() -> None:
    assert (ROOT / "docs" / "generated" / "credentials.md").read_text() == credential_page(every_route())


def test_the_list_of_security_tests_matches_their_markers() -> None:
    assert security_rules.PAGE.read_text() == security_rules.write_page(), "run `make security`"


def test_make_run_serves_on_another_port() -> None:
    command = ["make", "--no-print-directory", "-n", "run", "PORT=8110"]
    plan = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert plan.stdout.rstrip().endswith("shop serve --demo --port 8110")


def test_every_command_named_in_the_docs_exists() -> None:
    text = "".join(page.read_text() for page in PAGES)
    listing = CliRunner().invoke(commands, ["--help"]).output

    for verb in set(re.findall(r"`shop ([a-z]+)", text)):
        assert re.search(rf"^  {verb}\b", listing, re.MULTILINE), verb
    makefile = (ROOT / "Makefile").read_text()
    for verb in set(re.findall(r"`make ([a-z]+)`", text)):
        assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


def test_the_published_pattern_of_order_tokens_is_the_one_in_use() -> None:
    assert f"`{ORDER_TOKEN_PATTERN}`" in (ROOT / "docs" / "operating.md").read_text()


def test_the_version_is_the_same_everywhere() -> None:
    """The build reads it from the module, so that pyproject.toml has none of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    output = CliRunner().invoke(commands, ["--version"]).output

    assert (project["dynamic"], "version" in project) == (["version"], False)
    assert newest
    assert (newest[1], output) == (__version__, f"shop, version {__version__}\n")


def test_every_version_has_a_date_and_says_how_to_upgrade() -> None:
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]

    assert sections
    for section in sections:
        assert re.match(r"[0-9]+\.[0-9]+\.[0-9]+ \(20[0-9]{2}-[0-9]{2}-[0-9]{2}\)\n", section), section[:40]
        assert section.count("\n### Upgrading\n") == 1, section[:40]


def test_every_documented_command_is_run_by_a_test_or_listed_with_the_reason() -> None:
    commands = [*documented_commands.list_commands(), *documented_commands.list_commands_in_text()]

    assert len(commands) > 180
    assert [command for command in commands if command.run_by is None] == [], "add them to tests/documented_commands.py"
    assert documented_commands.PAGE.read_text() == documented_commands.write_page(), (
        "run `.venv/bin/python -m tests.documented_commands`"
    )


def test_a_command_that_is_not_listed_is_found() -> None:
    blocks = ("sh\nshop backup a && shop destroy", "console\noutput", "\nmake tea", "text\nno command")
    text = "".join(f"```{block}\n```\n" for block in blocks)

    commands = documented_commands.find_commands("docs/upgrading.md", text)

    assert [command.text for command in commands if command.run_by is None] == ["shop destroy", "make tea"]


@pytest.mark.parametrize("page", documented_commands.COMMANDS)
def test_the_test_of_a_documented_command_has_its_words(page: str) -> None:
    text = (ROOT / page).read_text()
    for beginning, runner in documented_commands.COMMANDS[page].items():
        assert beginning in text, f"{page} has no command {beginning}"
        check_words(beginning, runner)


def test_the_test_of_a_command_within_a_sentence_has_its_words() -> None:
    for beginning, runner in documented_commands.IN_TEXT.items():
        check_words(beginning, runner)


def check_words(beginning: str, runner: str) -> None:
    if runner.startswith("not run: "):
        return
    test = (ROOT / runner).read_text()
    words = [word for word in beginning.split()[1:] if not word.startswith("@")]
    assert [word for word in words if word not in test] == [], f"{runner} does not run {beginning}"


def test_the_requests_of_the_pages_work_as_pasted(service: Service, make: Make) -> None:
    (menus,) = paste(0, service, "docs/pages.md")
    (page,) = paste(1, service, "docs/pages.md", TOKEN=make.machine.access_token)

    assert isinstance(menus["data"], list)
    assert page["data"]["attributes"]["title"] == "About us"


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"

    file_names = re.findall(r"\((0[0-9]{3}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text())

    assert file_names == sorted(path.name for path in folder.glob("0*.md"))


def test_the_list_of_statements_that_cross_shards_is_current() -> None:
    assert shard_statements.FILE.read_text() == shard_statements.build_document(), (
        "run `.venv/bin/python -m tests.shard_statements`"
    )


def test_a_statement_crosses_shards_unless_it_names_an_order() -> None:
    tables = shard_statements.list_order_tables()
    by_order = [
        "select * from orders where orders.id = $1",
        "update payments set state = $1 where payments.order_id = cast((select $2::uuid as a) as uuid)",
        "select * from line_items where line_items.order_id = any (cast((select $1::uuid[] as a) as uuid[]))",
        "insert into line_items (id, order_id) values ($1, $2)",
        "select * from products",
    ]
    crossing = [
        "select * from orders where orders.number = $1",
        "select * from payments where payments.id = $1",
        "select * from line_items join orders on orders.id = line_items.order_id where line_items.sku = $1",
    ]

    assert [sql for sql in by_order if shard_statements.crosses_shards(sql, tables)] == []
    assert [sql for sql in crossing if not shard_statements.crosses_shards(sql, tables)] == []
