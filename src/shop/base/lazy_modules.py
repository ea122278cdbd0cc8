"""Modules that are loaded on first use, because most processes never need them: a worker keeps what it loads."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module, and loads it when one of its names is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value
