"""Lists the tests of each rule of docs/security.md; run as a module, it writes docs/generated/security-tests.md."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULES = ROOT / "docs" / "security.md"
PAGE = ROOT / "docs" / "generated" / "security-tests.md"
HEADER = """# Tests of the security rules

The tests that prove each rule of [security.md](../security.md), by their markers. Tests with an asterisk are run by
`make torture`. Written by `make security`.
"""


def list_rules() -> tuple[list[str], list[str]]:
    """The ids of all rules in their order, and of those that are pending."""
    rules, _, pending = RULES.read_text().partition("\n## Pending\n")
    return _ids(rules), _ids(pending)


def _ids(text: str) -> list[str]:
    return re.findall(r"^\| ([A-Z]-\d\d[a-z]?) \|", text, re.MULTILINE)


def find_tests() -> dict[str, list[str]]:
    """The tests of each rule, as `directory/test_file.py: test_name`."""
    tests: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "mark.security" in text:
            name = path.relative_to(ROOT / "tests").as_posix()
            for rule, test in _marked_tests(ast.parse(text), name):
                tests[rule].append(f"{name}: {test}")
    return tests


def _marked_tests(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    of_module = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node).startswith("pytestmark")
    ]
    markers = _security_ids(of_module)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = _security_ids(node.decorator_list)
            markers += own
            slow = "*" if "mark.torture" in "".join(map(ast.unparse, [*node.decorator_list, *of_module])) else ""
            for rule in dict.fromkeys([*own, *_security_ids(of_module)]):
                yield rule, node.name + slow
    # A marker in another place has no effect.
    assert len(markers) == len(_security_ids([tree])), f"tests/{name}: mark a test function, or set pytestmark"


def _security_ids(nodes: Sequence[ast.AST]) -> list[str]:
    calls = (call for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call))
    markers = (call for call in calls if ast.unparse(call.func) == "pytest.mark.security")
    return [ast.literal_eval(argument) for call in markers for argument in call.args]


def write_page() -> str:
    """The text of docs/generated/security-tests.md."""
    tests = find_tests()
    rules, pending = list_rules()
    sections = []
    for rule in rules:
        lines = [f"- `{test}`" for test in tests[rule]] or ["Pending." if rule in pending else "None."]
        sections.append("\n".join(["", f"## {rule}", "", *lines, ""]))
    return HEADER + "".join(sections)


if __name__ == "__main__":
    PAGE.write_text(write_page())
