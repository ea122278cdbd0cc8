"""The template language of e-mail texts: variables and conditions, without loops, calls, attributes or arithmetic.

A text is parsed and checked node by node, so that whatever is not listed here is refused. It then runs in a sandbox,
with plain strings as its only values.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_LENGTHS = {"subject": 150, "heading": 150, "body": 2000, "button": 60, "footer": 1000}
"""The most characters of each text."""
MAX_OUTPUT = 20_000
MAX_DEPTH = 20
FILTERS = ("capitalize", "default", "lower", "trim", "upper")
_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Filter,
)
# Also surrogates, which cannot be encoded: the string literals of a text can contain both, such as "\ud800".
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_environment = ImmutableSandboxedEnvironment(
    autoescape=False,  # Texts are plain: the layout escapes what they render to.
    undefined=StrictUndefined,
    auto_reload=False,
    cache_size=0,
)
_environment.globals.clear()
_environment.filters = {name: _environment.filters[name] for name in FILTERS}
_environment.tests.clear()


class TextError(ValueError):
    """A text that is not a valid template; the message is a sentence that names the line."""


def check_text(text: str, variables: Mapping[str, str]) -> None:
    """Raises TextError unless the text uses only these variables and what the language allows."""
    try:
        tree = _environment.parse(text)
        _check_depth(tree)
    except TemplateSyntaxError as error:
        raise TextError(f"Line {error.lineno}: {(error.message or 'invalid syntax').rstrip('.')}.") from None
    except RecursionError:
        raise TextError("Line 1: the text is nested too deeply.") from None
    for node in _walk(tree):
        if not isinstance(node, _ALLOWED):
            raise TextError(f"Line {node.lineno or 1}: “{_name_of(node)}” is not allowed here.")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise TextError(f"Line {node.lineno}: there is no filter “{node.name}”. Use {', '.join(FILTERS)}.")
        if isinstance(node, nodes.Name) and node.name not in variables:
            names = ", ".join(variables)
            raise TextError(f"Line {node.lineno}: there is no variable “{node.name[:50]}”. Use {names}.")
    try:
        for values in (variables, dict.fromkeys(variables, "")):
            render_text(text, values)
    except (TemplateError, TypeError, SyntaxError, RecursionError, TextError):
        raise TextError("Line 1: the text cannot be rendered.") from None


def always_shows(text: str, variable: str) -> bool:
    """Returns whether a valid text shows a variable as it is, outside of any condition."""
    tree = _environment.parse(text)
    return any(
        isinstance(part, nodes.Name) and part.name == variable
        for output in tree.body
        if isinstance(output, nodes.Output)
        for part in output.nodes
    )


def render_text(text: str, values: Mapping[str, str]) -> str:
    """Renders a text to plain text, without control characters; raises if it is not valid."""
    output = _CONTROLS.sub("", _compile(text).render(values))
    if len(output) > MAX_OUTPUT:
        raise TextError(f"The text is longer than {MAX_OUTPUT:,} characters.")
    return output.strip()


def render_line(text: str, values: Mapping[str, str]) -> str:
    """Renders a text to one line, for a subject: without line breaks, it cannot add a header."""
    line = " ".join(render_text(text, values).split())
    return "".join(letter for letter in line if letter.isprintable())


def split_paragraphs(text: str) -> list[list[str]]:
    """Returns the lines of each paragraph; empty lines separate paragraphs."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line.strip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return [lines for lines in paragraphs if lines]


@lru_cache(maxsize=256)
def _compile(text: str) -> Template:
    return _environment.from_string(text)


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _check_depth(node: nodes.Node, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise TextError(f"Line {node.lineno}: the text is nested too deeply.")
    for child in node.iter_child_nodes():
        _check_depth(child, depth + 1)


def _name_of(node: nodes.Node) -> str:
    """Returns the name of a construct, as an author knows it."""
    names = {
        nodes.Getattr: "a dot",
        nodes.Getitem: "brackets",
        nodes.Call: "a call",
        nodes.For: "for",
        nodes.Assign: "set",
        nodes.AssignBlock: "set",
        nodes.Test: "is",
        nodes.Scope: "autoescape",
    }
    return names.get(type(node), type(node).__name__.lower())
