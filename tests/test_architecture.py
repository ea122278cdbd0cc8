"""The walls of the house: who may import whom, and what a file may look like."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def imports_of(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Every imported module by its full name; `from shop.db import pool` counts as shop.db.pool."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in NAMES else str(node.module)), node


def ours(path: Path) -> set[str]:
    return {name for name, _ in imports_of(path) if name.startswith("shop.")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_only_rooms_to_its_left(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        assert not ours(path)
        return
    for name in ours(path):
        other = name.split(".")[1]
        allowed = other == room or LEVEL[other] < LEVEL[room] or (room in TOP and other in TOP)
        if room in BASE_ONLY:
            allowed = other in {room, "base"}
        assert allowed, f"{name_of(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_its_owners_import_a_library(path: Path) -> None:
    for name, _ in imports_of(path):
        library = name.split(".")[0]
        assert room_of(path) in OWNERS.get(library, {room_of(path)}), f"{name_of(path)} imports {library}"
        assert library not in NO_IO.get(room_of(path), set()), f"{name_of(path)} imports {library}"


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


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_import_stands_inside_a_function(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [child.lineno for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
            assert not inner, f"{name_of(path)}:{inner}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_a_chapter_of_at_most_400_lines_with_a_first_sentence(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert ast.get_docstring(ast.parse(text)), "begins with one sentence saying what it answers"
    assert path.stem not in FORBIDDEN_NAMES


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name_of)
def test_a_room_is_described_in_three_lines_and_exports_nothing(path: Path) -> None:
    (only,) = ast.parse(path.read_text()).body
    assert isinstance(only, ast.Expr)
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
    assert len([line for line in lines if line]) == 3


def test_every_folder_is_a_room_of_the_plan() -> None:
    rooms = {path.name.removesuffix(".py") for path in HOUSE.iterdir() if not path.name.startswith("__")}
    assert rooms <= set(LEVEL)


def test_secrets_are_compared_with_compare_digest_and_patterns_are_ascii() -> None:
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not re.search(r"re\.(match|search|compile)\([^)]*\\d", line), (
                f"{path.name}:{number}: \\d takes any digit"
            )
