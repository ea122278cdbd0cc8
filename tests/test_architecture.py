"""Layers and chapters: which module may import which, and what a module may contain."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from shop import __version__
from shop.cli.extensions.boundary import list_foreign_imports
from tests import participles

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "shop"
LAYERS = (
    {"base"},
    {"db"},
    {"models"},
    {"rules"},
    {"queries"},
    {"gateways"},
    {"actions"},
    {"jsonapi"},
    {"web"},
    {"storefront", "platform", "admin", "website", "site"},
    {"extension"},
    {"app", "worker", "demo", "migrations", "cli"},
)
CHAPTERS = (
    {"mail"},
    {"access"},
    {"setup"},
    {"catalog"},
    {"catalog_admin", "imports", "content"},
    {"stock"},
    {"catalog_bulk"},
    {"customers"},
    {"cart"},
    {"checkout"},
    {"payments"},
    {"documents"},
    {"orders"},
    {"order_edits"},
    {"drafts"},
    {"promotions"},
    {"webhooks"},
    {"accounts"},
    {"operations"},
    {"backups"},
    {"extensions"},
    {"shop_files"},
    {"archive"},
)
"""The chapters of the layers below HTTP, in the order in which they may import each other. The dashboard has the same
chapters, without an order.
"""
POSITION = {chapter: position for position, chapters in enumerate(CHAPTERS) for chapter in chapters}
ORDERED_LAYERS = {"actions", "queries", "rules", "models"}
MAX_FILES = 15
LARGE_FOLDERS = {"migrations/versions": 99}
MAX_FUNCTION_LINES = 40
LAYERS_BELOW_ACTIONS = ("queries", "rules", "models")
ACTIONS_WITHOUT_NAMESAKE = {
    "declares the actions of all tables of its chapter": {
        "catalog/resources",
        "content/resources",
        "orders/part_resources",
        "orders/resources",
        "promotions/resources",
        "setup/resources",
    },
    "changes tables of another chapter": {
        "catalog_admin/images",
        "checkout/stock_holds",
        "customers/sessions",
        "orders/line_items",
        "orders/manual_adjustments",
        "payments/returns",
        "promotions/promotions",
        "setup/payment_methods",
    },
    "implements a protocol with the statements of several files": {
        "access/oauth",
        "access/operator_login",
        "access/second_factor",
        "payments/webhooks",
    },
    "is one operation on the rows of several files": {
        "cart/order_events",
        "cart/sign_in",
        "cart/wishlists",
        "checkout/workflow",
        "customers/account",
        "customers/assignments",
        "drafts/pickups",
        "drafts/placement",
        "drafts/quotes",
        "imports/batch_runner",
        "operations/event_log",
        "operations/mail_contents",
        "operations/mail_previews",
        "operations/mail_templates",
        "operations/order_mail",
        "order_edits/cancellations",
        "order_edits/contacts",
        "order_edits/divisions",
        "order_edits/line_items",
        "orders/assignment",
        "orders/bulk",
        "orders/details",
        "orders/nested_attributes",
        "orders/operations",
        "orders/removals",
        "orders/reorder",
        "orders/resumption",
        "payments/attempts",
        "payments/balance",
        "payments/charges",
        "payments/completion",
        "payments/settlement",
        "payments/test_card",
        "promotions/preview",
        "webhooks/dispatch",
        "webhooks/queue",
        "webhooks/subscribers",
    },
    "only reads, for responses": {
        "archive/views",
        "catalog/website",
        "checkout/shipping_estimates",
        "checkout/views",
        "content/public_menus",
        "customers/export",
        "order_edits/pages",
        "drafts/pages",
        "orders/status",
    },
    "locks or checks before the other files of its chapter change rows": {
        "cart/access",
        "cart/locked_carts",
        "catalog/product_locks",
        "catalog/reservations",
    },
    "has no rows of its own": {
        "backups/media",
        "context",
        "event_subjects",
        "event_tail",
        "extensions/declarations",
        "extensions/extension_context",
        "extensions/isolation",
        "extensions/mails",
        "extensions/providers",
        "hash_queue",
        "installed_extensions",
        "mail/budget",
        "operations/mail_examples",
        "operations/mail_layout",
        "pending_counts",
        "webhooks/sender",
        "work_signals",
    },
}
"""The files of `actions/` whose name no file of the layers below has in the same chapter, by reason."""
LAYERS_WITHOUT_TRANSACTIONS = {"storefront", "platform", "admin", "website", "site"}
LEVEL = {layer: level for level, layers in enumerate(LAYERS) for layer in layers}
TOP_LAYERS = LAYERS[-1]
IMPORT_BASE_ONLY = {"gateways", "jsonapi"}
LIBRARY_LAYERS = {
    "sqlalchemy": {"db", "models", "queries", "migrations"},
    "asyncpg": {"db", "models", "queries", "migrations"},
    "granian": {"cli"},
    # Loaded on first use, and never with the shop.
    "reportlab": set(),
    "webauthn": set(),
}
NO_IO = {
    "base": {"asyncio", "socket", "subprocess"},
    "rules": {"asyncio", "os", "time", "random", "secrets", "datetime"},
    "jsonapi": {"asyncio", "os", "time", "random", "secrets", "socket", "subprocess", "pathlib"},
}
WITHOUT_LIMITS = {
    "claim_idempotency_key",
    "find_idempotency_key",
    "finish_idempotency_key",
    "insert_audit",
    "find_audit",
}
"""Functions of the journal that any module may use; all others spend or read a limit."""
SECRET_WORDS = {"secret", "token", "digest", "hash", "mac", "signature", "csrf", "ticket", "consent"}
SECRET_IN_RULES = {"code", "typed"}
"""Secrets only in `rules`: elsewhere a code may belong to an error, and an operator types more than codes."""
PLAIN_COMPARISONS = {
    # Both come from the database: whether the row has changed since it was read.
    ("shop.actions.access.operator_login", "current.password_hash != operator.password_hash"),
    # Two headers of one request, which must be equal.
    ("shop.web.credentials", "order_token != alias"),
    # The id of a row: whether it still is the newest.
    ("shop.actions.access.applications", "await applications.find_newest_secret(ctx.db, application_id) != replaces"),
}
CLOCK_READERS = {
    # Ids sort by their time of creation.
    "shop.base.ids",
    # The difference between the clocks of this machine and the database, and the days until a certificate ends.
    "shop.db.server_probe",
    "shop.cli.machine_checks",
    # The time of a request, for the log.
    "shop.web.endpoint",
    # The age of a webhook's signature.
    "shop.gateways.stripe_mapping",
    # The time of a quote and of a shipment: clients see it, and nothing depends on it.
    "shop.actions.cart.line_items",
    "shop.actions.checkout.shipments",
    "shop.actions.payments.completion",
}
"""Every other module uses the time of the database: the clocks of several servers differ."""
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "core", "manager"}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "versions" not in path.parts)


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return ".".join(("shop", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> list[str]:
    """Every imported module by its full name; `from shop.db import pool` counts as shop.db.pool."""
    names = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.append(inner if inner in NAMES else str(node.module))
    return names


def shop_imports_of(path: Path) -> set[str]:
    return {name for name in imports_of(path) if name.startswith("shop.")}


def may_import(layer: str, other: str) -> bool:
    if layer in IMPORT_BASE_ONLY:
        return other in {layer, "base"}
    return other == layer or LEVEL[other] < LEVEL[layer] or (layer in TOP_LAYERS and other in TOP_LAYERS)


def test_a_layer_imports_only_lower_layers() -> None:
    assert [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        for name in shop_imports_of(path)
        if layer_of(path) == "__init__" or not may_import(layer_of(path), name.split(".")[1])
    ] == []


def chapter_of(name: str) -> str | None:
    """None for a module beside the chapters of its layer, which every chapter may import."""
    parts = name.split(".")
    return parts[2] if len(parts) > 3 and parts[1] in {*ORDERED_LAYERS, "admin"} else None


def imports_backward(path: Path) -> Iterator[str]:
    own = chapter_of(name_of(path))
    for name in shop_imports_of(path):
        other = chapter_of(name)
        if name.split(".")[1] != layer_of(path) or other is None or other == own:
            continue
        if own is None or POSITION[other] >= POSITION[own]:
            yield f"{name_of(path)} imports {name}"


def test_a_chapter_imports_only_earlier_chapters_of_its_layer() -> None:
    paths = [path for path in MODULES if layer_of(path) in ORDERED_LAYERS]

    assert [error for path in paths for error in imports_backward(path)] == []


def test_bare_participles_are_rare_as_names() -> None:
    assert participles.rate("src") < 3
    assert participles.rate("bench") < 3


def test_no_class_name_has_two_meanings() -> None:
    """`EmptyBody` means the same in both APIs, which cannot import each other."""
    names = [node.name for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]

    assert {name for name in names if names.count(name) > 1} == {"EmptyBody"}


def test_every_folder_of_a_layer_is_a_chapter() -> None:
    folders = {path.parent.name for path in MODULES if path.parent.parent.name in {*ORDERED_LAYERS, "admin"}}

    assert folders <= set(POSITION)


def test_a_folder_has_at_most_15_files() -> None:
    folders: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        folder = str(path.parent.relative_to(PACKAGE))
        folders[folder] = folders.get(folder, 0) + (path.name != "__init__.py")

    assert {name: size for name, size in folders.items() if size > LARGE_FOLDERS.get(name, MAX_FILES)} == {}


def namesakes_of(path: Path) -> list[Path]:
    file = path.relative_to(PACKAGE / "actions")
    return [PACKAGE / layer / file for layer in LAYERS_BELOW_ACTIONS if (PACKAGE / layer / file).exists()]


def test_a_file_of_actions_has_a_namesake_in_a_lower_layer_or_a_reason() -> None:
    """The name of a file then finds its statements, rules and tables too. An entry that is not needed is an error."""
    files = [path for path in MODULES if layer_of(path) == "actions" and path.name != "__init__.py"]
    without_namesake = {
        str(path.relative_to(PACKAGE / "actions").with_suffix("")) for path in files if not namesakes_of(path)
    }
    reasons = [name for names in ACTIONS_WITHOUT_NAMESAKE.values() for name in names]

    assert sorted(reasons) == sorted(without_namesake)


def test_a_function_has_at_most_40_lines() -> None:
    assert [
        f"{name_of(path)}.{node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MAX_FUNCTION_LINES
    ] == []


def test_no_request_handler_opens_a_transaction() -> None:
    assert [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if layer_of(path) in LAYERS_WITHOUT_TRANSACTIONS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "transaction"
    ] == []


def test_a_library_is_imported_only_by_its_layers() -> None:
    wrong = []
    for path in MODULES:
        layer = layer_of(path)
        for library in {name.split(".")[0] for name in imports_of(path)}:
            if layer not in LIBRARY_LAYERS.get(library, {layer}) or library in NO_IO.get(layer, set()):
                wrong.append(f"{name_of(path)} imports {library}")
    assert wrong == []


@pytest.mark.security("A-04")
def test_only_gateways_and_commands_can_send_requests() -> None:
    """A caller then cannot choose the host: gateways and commands take it from a setting, or check it
    (`gateways/safe_http.py`).
    """
    clients = re.compile(r"(aiohttp|aiosmtplib|httpx2|obstore|requests|smtplib|stripe|http\.client|urllib\.request)\b")

    assert {layer_of(path) for path in MODULES if any(map(clients.match, imports_of(path)))} == {"gateways", "cli"}


def test_there_are_no_import_cycles() -> None:
    graph = {name_of(path): shop_imports_of(path) for path in MODULES}
    acyclic: set[str] = set()

    def check(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in acyclic:
            for other in graph.get(name, ()):
                check(other, (*trail, name))
            acyclic.add(name)

    for name in graph:
        check(name, ())


LOADER = "shop.app.extension_checks"
"""The only module of the shop that imports the interface of extensions."""
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def test_only_the_loader_imports_the_interface_of_extensions() -> None:
    importers = {name_of(path) for path in MODULES if "shop.extension" in shop_imports_of(path)}

    assert importers == {LOADER}


def test_extensions_import_only_their_interface_from_the_shop() -> None:
    assert EXAMPLES
    assert [error for path in EXAMPLES for error in list_foreign_imports(path)] == []


def test_an_import_of_anything_else_from_the_shop_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("import shop.db.pool\nfrom shop import extension, worker\nfrom shop.extension import Row\n")

    assert list_foreign_imports(module) == ["module.py:1: shop.db.pool", "module.py:2: shop.worker"]


def test_no_function_contains_an_import() -> None:
    assert [
        f"{name_of(path)}:{statement.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in ast.walk(node)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ] == []


def test_every_dynamic_import_is_listed() -> None:
    """The models, for migrations; the command that runs; the log; and what is large and rarely needed."""
    assert {
        (name_of(path), ast.unparse(node))
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
    } == {
        ("shop.gateways.stripe", "import_module('stripe')"),
        ("shop.gateways.stripe", "import_module('aiohttp')"),
        ("shop.gateways.safe_http", "import_module('aiohttp')"),
        ("shop.admin.orders.pdf_page", "import_module('reportlab')"),
        ("shop.admin.orders.pdf_page", "import_module('reportlab.pdfbase.cidfonts')"),
        ("shop.admin.orders.pdf_page", "import_module('reportlab.pdfbase.pdfmetrics')"),
        ("shop.admin.orders.pdf_page", "import_module('reportlab.pdfbase.ttfonts')"),
        ("shop.admin.orders.pdf_page", "import_module('reportlab.pdfgen.canvas')"),
        ("shop.base.crypto.passkeys", "import_module('webauthn')"),
        ("shop.app.extensions", "import_module('shop.platform.routes')"),
        ("shop.base.lazy_modules", "import_module(self._name)"),
        ("shop.cli.main", "import_module(f'shop.cli.{module}')"),
        ("shop.cli.main", "import_module('structlog')"),
        ("shop.migrations.env", "import_module(name)"),
    }


def errors_of(path: Path) -> Iterator[str]:
    lines = len(path.read_text().splitlines())
    if lines > 400:
        yield f"{name_of(path)} has {lines} lines"
    if not ast.get_docstring(tree_of(path)):
        yield f"{name_of(path)} has no doc string"
    if {word for part in path.relative_to(PACKAGE).with_suffix("").parts for word in part.split("_")} & FORBIDDEN_NAMES:
        yield f"{name_of(path)} has an uninformative name"


def test_a_module_has_a_doc_string_and_at_most_400_lines() -> None:
    assert [error for path in MODULES for error in errors_of(path)] == []


def is_described(path: Path) -> bool:
    """A doc string of three lines, and no code but the version, which the build reads in the package itself."""
    lines = (ast.get_docstring(tree_of(path)) or "").splitlines()
    code = [ast.unparse(part) for part in tree_of(path).body[1:]]
    is_allowed = code == ([f"__version__ = {__version__!r}"] if path.parent == PACKAGE else [])
    return is_allowed and len([line for line in lines if line]) == 3


def test_a_package_has_a_three_line_doc_string_and_no_code() -> None:
    assert [name_of(path) for path in MODULES if path.name == "__init__.py" and not is_described(path)] == []


def test_every_folder_is_a_layer() -> None:
    layers = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("__")}
    assert layers <= set(LEVEL)


def names_used_in(path: Path) -> set[str]:
    """The full name of everything that a module imports, by itself or as an attribute of another module."""
    aliases = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    attributes = [ast.unparse(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)]
    parts = [name.partition(".") for name in attributes]
    return {*aliases.values(), *attributes, *(f"{aliases.get(first, first)}.{rest}" for first, _, rest in parts)}


def uses_limits(name: str) -> bool:
    module, _, function = name.rpartition(".")
    return (
        module == "shop.queries.journal" and function not in WITHOUT_LIMITS
    ) or name == "shop.queries.access.login.count_attempt"


def test_only_rate_limits_and_the_mail_budget_use_rate_counts() -> None:
    users = {name_of(path) for path in MODULES if any(uses_limits(name) for name in names_used_in(path))}
    table_users = {name_of(path) for path in MODULES if "shop.models.journal.rate_counts" in names_used_in(path)}

    # The statement that checks whether an address is verified counts the request for a code; the two actions decide
    # what the counts mean.
    assert users == {
        "shop.actions.rate_limits",
        "shop.actions.mail.budget",
        "shop.queries.access.login",
    }
    assert table_users == {"shop.queries.journal", "shop.queries.operations.housekeeping"}


def last_name(node: ast.expr) -> str:
    """The name of a value: of a variable, an attribute, or the function that returns it."""
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


def is_secret(node: ast.expr, layer: str) -> bool:
    secret = SECRET_WORDS | (SECRET_IN_RULES if layer == "rules" else set())
    words = last_name(node).lower().split("_")
    # The version of a token is a number that anyone can read in the token.
    return words[-1] != "version" and any(word in secret or word.removesuffix("s") in secret for word in words)


def comparisons_of(path: Path) -> Iterator[ast.Compare]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare) and any(isinstance(way, ast.Eq | ast.NotEq) for way in node.ops):
            yield node


@pytest.mark.security("T-04")
def test_secrets_are_compared_with_compare_digest() -> None:
    """Queries are exempt: there the database compares digests, whose timing reveals nothing of use."""
    comparisons = {
        (name_of(path), ast.unparse(node))
        for path in MODULES
        if layer_of(path) != "queries"
        for node in comparisons_of(path)
        if any(is_secret(side, layer_of(path)) for side in (node.left, *node.comparators))
    }

    assert comparisons == PLAIN_COMPARISONS


@pytest.mark.security("T-06")
def test_only_listed_modules_read_the_clock_of_the_server() -> None:
    clocks = {"time", "time_ns", "time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"}
    callers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in clocks
    }

    assert callers == CLOCK_READERS


def test_regular_expressions_match_ascii_digits_only() -> None:
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not re.search(r"re\.(match|search|compile)\([^)]*\\d", line), (
                f"{path.name}:{number}: \\d matches any Unicode digit"
            )


@pytest.mark.security("X-11")
def test_a_request_opens_no_second_database_session() -> None:
    """A second session would have another 5.5 s; `ctx.db.separate()` and `ctx.with_new_session()` share or limit the
    time left.
    """
    pattern = re.compile(r"ctx\.shared\.database\.session\(|\bContext\(ctx\.shared")
    file_names = [
        path.name for path in PACKAGE.rglob("*.py") if path.name != "context.py" and pattern.search(path.read_text())
    ]

    assert file_names == []
