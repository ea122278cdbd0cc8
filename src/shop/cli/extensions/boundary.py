"""Finds what the code of an extension imports from the shop beside its interface."""

import ast
from pathlib import Path

_INTERFACE = "shop.extension"


def list_foreign_imports(path: Path) -> list[str]:
    """Returns each import of another module of the shop, with its line."""
    errors = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            is_root = node.module == "shop"
            names = [f"shop.{alias.name}" for alias in node.names] if is_root else [str(node.module)]
        else:
            continue
        foreign_names = [name for name in names if name.split(".")[0] == "shop" and name != _INTERFACE]
        errors += [f"{path.name}:{node.lineno}: {name}" for name in foreign_names]
    return errors
