"""Counts bare past participles used as names: `found`, `given`, `kept` say what happened to a value, not what it is."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
IRREGULAR = frozenset(
    """
    asked beaten begun born bought bound broken brought built caught chosen done drawn dropped fed felt found forgotten
    frozen given gone grown heard held hidden kept known laid learned led lost made meant met ours paid said seen sent
    shown sold spent spoken stood stolen taken taught theirs thought told thrown understood used wanted won worn written
    """.split()  # noqa: SIM905  A list would be one word a line.
)
# Words of the trade and of Python: each says what the value is.
TRADE = frozenset(
    """
    annotated computed deprecated embedded expected feed included malformed need related required reversed seed shared
    sorted speed unauthenticated unverified
    """.split()  # noqa: SIM905  A list would be one word a line.
)
_REGULAR = re.compile(r"[a-z]{2,}ed")


def is_participle(name: str) -> bool:
    word = name.strip("_").lower()
    return word not in TRADE and (word in IRREGULAR or _REGULAR.fullmatch(word) is not None)


def names_of(tree: ast.AST) -> Iterator[str]:
    """Every name that a module binds or uses, without attributes and without names of libraries."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    libraries = [node for node in imports if (node.module or "").partition(".")[0] not in {"shop", "tests", "bench"}]
    library_names = {alias.asname or alias.name for node in libraries for alias in node.names}
    yield from (name for name in _all_names(tree) if name not in library_names)


def _all_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                yield node.id
            case ast.arg():
                yield node.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name


def count(paths: Iterable[Path]) -> tuple[Counter[str], int]:
    """The uses of each participle, and the number of lines."""
    names: Counter[str] = Counter()
    lines = 0
    for path in paths:
        text = path.read_text()
        lines += len(text.splitlines())
        names.update(name for name in names_of(ast.parse(text)) if is_participle(name))
    return names, lines


def rate(folder: str) -> float:
    """Participles per 1,000 lines."""
    names, lines = count((ROOT / folder).rglob("*.py"))
    return 1000 * names.total() / lines


if __name__ == "__main__":
    for folder in ("src", "tests", "bench"):
        names, _ = count((ROOT / folder).rglob("*.py"))
        print(f"{folder}: {rate(folder):.1f} per 1,000 lines; {names.most_common(40)}")
