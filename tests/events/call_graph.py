"""Finds out which functions a handler can call, from the names in its code, without calling it."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from shop.actions.records import ResourceActions
from shop.platform.collection import Collection


def reaches(handler: Callable[..., Any], targets: Iterable[Callable[..., Any]]) -> bool:
    """Whether the handler can call one of these functions: it or a function that it calls names it."""
    wanted = {id(target) for target in targets}
    seen: set[int] = set()
    waiting: list[Any] = [handler]
    while waiting:
        thing = waiting.pop()
        if id(thing) in wanted:
            return True
        if id(thing) not in seen:
            seen.add(id(thing))
            waiting += _named_by(thing)
    return False


def _named_by(thing: Any) -> Iterator[Any]:
    """What a function, method or bound value refers to, as far as it belongs to the shop."""
    if isinstance(thing, MethodType):
        yield thing.__func__
        yield from _parts(thing.__self__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        if thing.__module__.startswith("shop."):
            yield from _function_names(thing)
    elif inspect.isclass(thing) and thing.__module__.startswith("shop."):
        yield from (value for value in vars(thing).values() if isinstance(value, FunctionType))
    else:
        yield from _parts(thing)


def _function_names(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    if wrapped := getattr(function, "__wrapped__", None):
        yield wrapped
    for code in _codes(function.__code__):
        values = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
        yield from (value for value in values if not isinstance(value, ModuleType))
        modules = [value for value in values if isinstance(value, ModuleType) and value.__name__.startswith("shop.")]
        yield from (vars(module)[name] for module in modules for name in code.co_names if name in vars(module))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _parts(value: Any) -> Iterator[Any]:
    """The functions in a declaration of a resource or of a form."""
    if isinstance(value, Collection | ResourceActions) or type(value).__module__.startswith("shop.admin."):
        names = getattr(value, "__struct_fields__", None) or getattr(value, "__slots__", None) or vars(value)
        yield from (getattr(value, name) for name in names)
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
