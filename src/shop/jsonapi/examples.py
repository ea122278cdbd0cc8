"""Generates example values from schemas: deterministic and valid."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from shop.jsonapi.schema import Schema

_BY_FORMAT = {
    "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
    "date-time": "2026-01-31T12:00:00.000Z",
    "date": "2026-01-31",
}
_BY_TYPE: dict[str, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": False, "null": None}
_AMOUNT = "19.99"
_PYTHON: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
    "array": list,
}
# Explicit values of a schema, the most specific first.
_EXPLICIT_VALUES: Sequence[Callable[[Schema], Sequence[Any]]] = (
    lambda schema: [schema["const"]] if "const" in schema else [],
    lambda schema: [schema["default"]] if "default" in schema else [],
    lambda schema: schema.get("examples", []),
    lambda schema: schema.get("enum", []),
)
# Members that are present only on request or on error.
_EXTRAS = frozenset({"included", "meta", "errors"})


class ExampleGenerator(msgspec.Struct, frozen=True):
    """Generates examples from the named schemas; `realistic_values` has realistic values by field name."""

    schemas: Mapping[str, Schema]
    realistic_values: Mapping[str, Any] = {}

    def resolve(self, schema: Schema) -> Schema:
        name = schema.get("$ref")
        if name is None:
            return schema
        target, siblings = self.schemas[name.rpartition("/")[2]], dict(schema)
        del siblings["$ref"]
        if "properties" in siblings:
            siblings["properties"] = {**target.get("properties", {}), **siblings["properties"]}
        return {**target, **siblings}

    def whole(self, schema: Schema, name: str = "") -> Any:
        """Returns a value with all members that a response has."""
        return self._value(self.resolve(schema), name, is_brief=False)

    def brief(self, schema: Schema) -> Any:
        """Returns a value with the required members and those with an example or default in the schema."""
        return self._value(self.resolve(schema), "", is_brief=True)

    def _value(self, schema: Schema, name: str, *, is_brief: bool) -> Any:
        values = [value for read in _EXPLICIT_VALUES for value in read(schema)]
        if values:
            return values[0]
        if "anyOf" in schema:
            return self._value(self.resolve(schema["anyOf"][0]), name, is_brief=is_brief)
        kinds = types_of(schema)
        if "object" in kinds:
            return self._object(schema, is_brief=is_brief)
        if name in self.realistic_values and _fits(self.realistic_values[name], schema, kinds):
            return self.realistic_values[name]
        if kinds[:1] == ["array"]:
            return [self._value(self.resolve(schema.get("items", {})), name, is_brief=is_brief)]
        return _plain(schema, kinds, name)

    def _object(self, schema: Schema, *, is_brief: bool) -> dict[str, Any]:
        required_names = schema.get("required", ())
        members = {}
        for name, inner in schema.get("properties", {}).items():
            member_schema = self.resolve(inner)
            is_described = not is_brief or "examples" in member_schema or "default" in member_schema
            if name in required_names or (is_described and name not in _EXTRAS):
                members[name] = self._value(member_schema, name, is_brief=is_brief)
        return members


def types_of(schema: Schema) -> Sequence[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _fits(value: Any, schema: Schema, kinds: Sequence[str]) -> bool:
    has_format = value is not None and ("format" in schema or "pattern" in schema)
    return not has_format and any(isinstance(value, _PYTHON.get(kind, ())) for kind in kinds)


def _plain(schema: Schema, kinds: Sequence[str], name: str) -> Any:
    if "format" in schema:
        return _BY_FORMAT.get(schema["format"], "text")
    if "pattern" in schema:
        return _AMOUNT
    return f"${_AMOUNT}" if name.startswith("display_") else _BY_TYPE.get(kinds[0] if kinds else "null")
