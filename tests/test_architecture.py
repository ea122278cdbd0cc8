"""The walls of the house: who may import whom, and what a file may look like."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
}
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


def test_only_its_owners_import_a_library() -> None:
    wrong = []
    for path in MODULES:
        room = room_of(path)
        for library in {name.split(".")[0] for name in imports_of(path)}:
            if room not in OWNERS.get(library, {room}) or library in NO_IO.get(room, set()):
                wrong.append(f"{name_of(path)} imports {library}")
    assert wrong == []


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


def faults_of(path: Path) -> Iterator[str]:
    lines = len(path.read_text().splitlines())
    if lines > 400:
        yield f"{name_of(path)} has {lines} lines"
    if not ast.get_docstring(tree_of(path)):
        yield f"{name_of(path)} does not begin with one sentence saying what it answers"
    if path.stem in FORBIDDEN_NAMES:
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


def test_secrets_are_compared_with_compare_digest_and_patterns_are_ascii() -> None:
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not re.search(r"re\.(match|search|compile)\([^)]*\\d", line), (
                f"{path.name}:{number}: \\d takes any digit"
            )
