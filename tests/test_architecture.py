"""The walls of the house: who may import whom, and what a file may look like."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import participles

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "src" / "shop"
FLOORS = (
    {"base"},
    {"db"},
    {"models"},
    {"rules"},
    {"queries"},
    {"gateways"},
    {"actions"},
    {"jsonapi"},
    {"web"},
    {"storefront", "platform", "admin", "site"},
    {"app", "worker", "demo", "migrations", "cli"},
)
CHAPTERS = (
    {"mail"},
    {"access"},
    {"setup"},
    {"catalog"},
    {"catalog_forms", "catalog_pages", "imports", "content"},
    {"customers"},
    {"cart"},
    {"checkout"},
    {"payments"},
    {"orders"},
    {"promotions"},
    {"operations"},
)
"""The chapters of the layers below HTTP, in the order in which they may import each other; and of the dashboard, whose
pages link to each other freely.
"""
POSITION = {chapter: position for position, chapters in enumerate(CHAPTERS) for chapter in chapters}
ORDERED = {"actions", "queries", "rules", "models"}
MOST_FILES = 15
LARGE_FOLDERS = {
    # One file a command, setting or message; splitting would name folders after nothing that a reader looks for.
    "base": 24,
    "cli": 22,
    "storefront": 18,
    "web": 16,
    "migrations/versions": 99,
}
NO_TRANSACTION = {"storefront", "platform", "admin", "site"}
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
TOP = FLOORS[-1]
BASE_ONLY = {"gateways", "jsonapi"}
OWNERS = {
    "sqlalchemy": {"db", "models", "queries", "migrations"},
    "asyncpg": {"db", "models", "queries", "migrations"},
    "starlette": {"web", "storefront", "platform", "admin", "site", "app"},
    "granian": {"cli"},
}
NO_IO = {
    "base": {"asyncio", "socket", "subprocess"},
    "rules": {"asyncio", "os", "time", "random", "secrets", "datetime"},
    "jsonapi": {"asyncio", "os", "time", "random", "secrets", "socket", "subprocess", "pathlib"},
}
NOT_COUNTED = {"take_idempotency_key", "find_idempotency_key", "finish_idempotency_key", "insert_audit", "find_audit"}
"""What of the journal's look-ups anybody may use; all others spend a limit or read one."""
SECRET_WORDS = {"secret", "token", "digest", "hash", "mac", "signature", "csrf", "ticket", "consent"}
SECRET_IN_RULES = {"code", "typed"}
"""Elsewhere also the code of an error, and what an operator typed."""
COMPARED_AS_THEY_ARE = {
    # Two readings of one row, and neither comes from a caller: whether it was changed meanwhile.
    ("shop.actions.access.operator_login", "current.password_hash != operator.password_hash"),
    # Two headers of one request, which must say the same.
    ("shop.web.credentials", "order_token != alias"),
    # The row's id: whether it still is the newest.
    ("shop.actions.access.applications", "await applications.find_newest_secret(ctx.db, application_id) != replaces"),
}
READ_THE_CLOCK = {
    # Ids sort by when they were made.
    "shop.base.ids",
    # When a request was answered, for the log.
    "shop.web.endpoint",
    # The age of a webhook's signature.
    "shop.gateways.stripe_mapping",
    # When a line was quoted and a shipment packed: it is shown, and nothing depends on it.
    "shop.actions.cart.line_items",
    "shop.actions.checkout.shipments",
    "shop.actions.payments.completion",
}
"""Every other time is the database's: the clocks of several servers differ."""
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "core", "manager"}
MODULES = sorted(path for path in HOUSE.rglob("*.py") if "versions" not in path.parts)


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return ".".join(("shop", *path.relative_to(HOUSE).with_suffix("").parts)).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> list[str]:
    """Every imported module by its full name; `from shop.db import pool` counts as shop.db.pool."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append(inner if inner in NAMES else str(node.module))
    return found


def ours(path: Path) -> set[str]:
    return {name for name in imports_of(path) if name.startswith("shop.")}


def may_import(room: str, other: str) -> bool:
    if room in BASE_ONLY:
        return other in {room, "base"}
    return other == room or LEVEL[other] < LEVEL[room] or (room in TOP and other in TOP)


def test_a_room_imports_only_rooms_to_its_left() -> None:
    assert [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        for name in ours(path)
        if room_of(path) == "__init__" or not may_import(room_of(path), name.split(".")[1])
    ] == []


def chapter_of(name: str) -> str | None:
    """None for a module that stands beside the chapters of its layer, which any of them may import."""
    parts = name.split(".")
    return parts[2] if len(parts) > 3 and parts[1] in {*ORDERED, "admin"} else None


def imports_backward(path: Path) -> Iterator[str]:
    own = chapter_of(name_of(path))
    for name in ours(path):
        other = chapter_of(name)
        if name.split(".")[1] != room_of(path) or other is None or other == own:
            continue
        if own is None or POSITION[other] >= POSITION[own]:
            yield f"{name_of(path)} imports {name}"


def test_a_chapter_imports_only_earlier_chapters_of_its_layer() -> None:
    paths = [path for path in MODULES if room_of(path) in ORDERED]

    assert [fault for path in paths for fault in imports_backward(path)] == []


def test_names_say_what_a_value_is_and_not_what_happened_to_it() -> None:
    assert participles.rate("src") < 3
    assert participles.rate("bench") < 3


def test_no_class_name_has_two_meanings() -> None:
    """`EmptyBody` is one thing in both APIs, which cannot import each other."""
    names = [node.name for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]

    assert {name for name in names if names.count(name) > 1} == {"EmptyBody"}


def test_every_folder_of_a_layer_is_a_chapter() -> None:
    folders = {path.parent.name for path in MODULES if path.parent.parent.name in {*ORDERED, "admin"}}

    assert folders <= set(POSITION)


def test_a_folder_holds_at_most_fifteen_files() -> None:
    folders: dict[str, int] = {}
    for path in HOUSE.rglob("*.py"):
        folder = str(path.parent.relative_to(HOUSE))
        folders[folder] = folders.get(folder, 0) + (path.name != "__init__.py")

    assert {name: size for name, size in folders.items() if size > LARGE_FOLDERS.get(name, MOST_FILES)} == {}


def test_no_request_handler_opens_a_transaction() -> None:
    assert [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if room_of(path) in NO_TRANSACTION
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "transaction"
    ] == []


def test_only_its_owners_import_a_library() -> None:
    wrong = []
    for path in MODULES:
        room = room_of(path)
        for library in {name.split(".")[0] for name in imports_of(path)}:
            if room not in OWNERS.get(library, {room}) or library in NO_IO.get(room, set()):
                wrong.append(f"{name_of(path)} imports {library}")
    assert wrong == []


@pytest.mark.security("A-04")
def test_only_gateways_and_commands_can_send_requests() -> None:
    """A host that a caller names is then not one of theirs: what they are given is a setting."""
    clients = re.compile(r"(aiosmtplib|httpx|obstore|requests|smtplib|stripe|http\.client|urllib\.request)\b")

    assert {room_of(path) for path in MODULES if any(map(clients.match, imports_of(path)))} == {"gateways", "cli"}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name_of(path): ours(path) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in graph.get(name, ()):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_import_stands_inside_a_function() -> None:
    assert [
        f"{name_of(path)}:{inner.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ] == []


def test_what_is_loaded_by_its_name_is_known() -> None:
    """The tables, for migrations; and a library as large as a fourth of the shop, which most processes never need."""
    assert {
        (name_of(path), ast.unparse(node))
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
    } == {("shop.gateways.stripe", "import_module('stripe')"), ("shop.migrations.env", "import_module(name)")}


def faults_of(path: Path) -> Iterator[str]:
    lines = len(path.read_text().splitlines())
    if lines > 400:
        yield f"{name_of(path)} has {lines} lines"
    if not ast.get_docstring(tree_of(path)):
        yield f"{name_of(path)} does not begin with one sentence saying what it answers"
    if {word for part in path.relative_to(HOUSE).with_suffix("").parts for word in part.split("_")} & FORBIDDEN_NAMES:
        yield f"{name_of(path)} has a name that says nothing"


def test_a_file_is_a_chapter_of_at_most_400_lines_with_a_first_sentence() -> None:
    assert [fault for path in MODULES for fault in faults_of(path)] == []


def is_described(path: Path) -> bool:
    """In three lines, and with nothing else in it."""
    lines = (ast.get_docstring(tree_of(path)) or "").splitlines()
    has_only_that = [type(part) for part in tree_of(path).body] == [ast.Expr]
    return has_only_that and len([line for line in lines if line]) == 3


def test_a_room_is_described_in_three_lines_and_exports_nothing() -> None:
    assert [name_of(path) for path in MODULES if path.name == "__init__.py" and not is_described(path)] == []


def test_every_folder_is_a_room_of_the_plan() -> None:
    rooms = {path.name.removesuffix(".py") for path in HOUSE.iterdir() if not path.name.startswith("__")}
    assert rooms <= set(LEVEL)


def used_of(path: Path) -> set[str]:
    """Every name taken from a module by its full name, imported by itself or reached through the module."""
    aliases = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    reached = [ast.unparse(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)]
    parts = [name.partition(".") for name in reached]
    return {*aliases.values(), *reached, *(f"{aliases.get(first, first)}.{rest}" for first, _, rest in parts)}


def is_counting(name: str) -> bool:
    room, _, last = name.rpartition(".")
    return (room == "shop.queries.journal" and last not in NOT_COUNTED) or name == "shop.queries.access.login.take_try"


def test_limits_are_spent_and_read_only_by_attempts_and_the_mail_budget() -> None:
    counting = {name_of(path) for path in MODULES if any(is_counting(name) for name in used_of(path))}
    keeping = {name_of(path) for path in MODULES if "shop.models.journal.rate_counts" in used_of(path)}

    # A guest's cart is counted by the statement that makes it, and a code request by the one that reads whether its
    # address is verified; what the counts mean is still for the two actions to say.
    assert counting == {
        "shop.actions.rate_limits",
        "shop.actions.mail.budget",
        "shop.queries.access.login",
        "shop.queries.cart.orders",
    }
    assert keeping == {"shop.queries.journal", "shop.queries.operations.housekeeping"}


def last_name(node: ast.expr) -> str:
    """What a value is called, whatever is taken of it or whoever makes it."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript() | ast.Await() | ast.Starred():
            return last_name(node.value)
        case ast.Call():
            # `token.encode()` is the token, `new_secret(kind)` a secret.
            inner = [last_name(node.func.value)] if isinstance(node.func, ast.Attribute) else []
            return "_".join([*inner, last_name(node.func)])
    return ""


def is_secret(node: ast.expr, room: str) -> bool:
    secret = SECRET_WORDS | (SECRET_IN_RULES if room == "rules" else set())
    words = last_name(node).lower().split("_")
    # The version of a token is a number that its holder can read in it.
    return words[-1] != "version" and any(word in secret or word.removesuffix("s") in secret for word in words)


def comparisons_of(path: Path) -> Iterator[ast.Compare]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare) and any(isinstance(way, ast.Eq | ast.NotEq) for way in node.ops):
            yield node


@pytest.mark.security("T-04")
def test_secrets_are_compared_with_compare_digest() -> None:
    """Not in look-ups: there the database compares digests, and of a digest time may tell."""
    found = {
        (name_of(path), ast.unparse(node))
        for path in MODULES
        if room_of(path) != "queries"
        for node in comparisons_of(path)
        if any(is_secret(side, room_of(path)) for side in (node.left, *node.comparators))
    }

    assert found == COMPARED_AS_THEY_ARE


@pytest.mark.security("T-06")
def test_no_lifetime_is_measured_by_the_clock_of_a_server() -> None:
    clocks = {"time", "time_ns", "time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"}
    callers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in clocks
    }

    assert callers == READ_THE_CLOCK


def test_patterns_are_ascii() -> None:
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not re.search(r"re\.(match|search|compile)\([^)]*\\d", line), (
                f"{path.name}:{number}: \\d takes any digit"
            )


@pytest.mark.security("X-11")
def test_a_request_opens_no_session_beside_its_own() -> None:
    """One of its own would have its own 5.5 s; `ctx.db.apart()` and `ctx.fresh()` share or bound the request's."""
    beside = re.compile(r"ctx\.shared\.database\.session\(|\bContext\(ctx\.shared")
    found = [path.name for path in HOUSE.rglob("*.py") if path.name != "context.py" and beside.search(path.read_text())]

    assert found == []
