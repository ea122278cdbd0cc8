"""What a value of a schema may look like: the same for the same schema, and true to it."""

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
# What a schema says itself, the most telling first.
_SAID: Sequence[Callable[[Schema], Sequence[Any]]] = (
    lambda schema: [schema["const"]] if "const" in schema else [],
    lambda schema: [schema["default"]] if "default" in schema else [],
    lambda schema: schema.get("examples", []),
    lambda schema: schema.get("enum", []),
)
# Only there when it was asked for, or where there is something to tell.
_EXTRAS = frozenset({"included", "meta", "errors"})


class Imagination(msgspec.Struct, frozen=True):
    """The named schemas, and what fields are like that a schema says too little of, by their names."""

    schemas: Mapping[str, Schema]
    likely: Mapping[str, Any] = {}

    def resolve(self, schema: Schema) -> Schema:
        name = schema.get("$ref")
        if name is None:
            return schema
        there, beside = self.schemas[name.rpartition("/")[2]], dict(schema)
        del beside["$ref"]
        if "properties" in beside:
            beside["properties"] = {**there.get("properties", {}), **beside["properties"]}
        return {**there, **beside}

    def whole(self, schema: Schema, name: str = "") -> Any:
        """A value with everything that an answer may show."""
        return self._value(self.resolve(schema), name, is_brief=False)

    def brief(self, schema: Schema) -> Any:
        """A value with what must be sent, and what the schema itself has an example of."""
        return self._value(self.resolve(schema), "", is_brief=True)

    def _value(self, schema: Schema, name: str, *, is_brief: bool) -> Any:
        said = [value for read in _SAID for value in read(schema)]
        if said:
            return said[0]
        if "anyOf" in schema:
            return self._value(self.resolve(schema["anyOf"][0]), name, is_brief=is_brief)
        kinds = types_of(schema)
        if "object" in kinds:
            return self._object(schema, is_brief=is_brief)
        if name in self.likely and _fits(self.likely[name], schema, kinds):
            return self.likely[name]
        if kinds[:1] == ["array"]:
            return [self._value(self.resolve(schema.get("items", {})), name, is_brief=is_brief)]
        return _plain(schema, kinds, name)

    def _object(self, schema: Schema, *, is_brief: bool) -> dict[str, Any]:
        required = schema.get("required", ())
        shown = {}
        for name, inner in schema.get("properties", {}).items():
            drawn = self.resolve(inner)
            is_told = not is_brief or "examples" in drawn or "default" in drawn
            if name in required or (is_told and name not in _EXTRAS):
                shown[name] = self._value(drawn, name, is_brief=is_brief)
        return shown


def types_of(schema: Schema) -> Sequence[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _fits(value: Any, schema: Schema, kinds: Sequence[str]) -> bool:
    is_told_otherwise = value is not None and ("format" in schema or "pattern" in schema)
    return not is_told_otherwise and any(isinstance(value, _PYTHON.get(kind, ())) for kind in kinds)


def _plain(schema: Schema, kinds: Sequence[str], name: str) -> Any:
    if "format" in schema:
        return _BY_FORMAT.get(schema["format"], "text")
    if "pattern" in schema:
        return _AMOUNT
    return f"${_AMOUNT}" if name.startswith("display_") else _BY_TYPE.get(kinds[0] if kinds else "null")
