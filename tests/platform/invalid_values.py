"""Values that no field accepts, by the kind of field, and their error response."""

from typing import Any

from tests.shopper import Answer

INVALID_VALUES: dict[str, list[Any]] = {
    "text": [7, True, 1.5, ["a"], {"a": "b"}, "x" * 5001, "a\x07b", "a\u202eb"],
    "id": [7, True, [], {}, "7", "x" * 36, "00000000-0000-0000-0000-00000000000", "' or 1=1 --"],
    "flag": [2, "perhaps", [], {}, "truee", 1.5],
    "object": [7, "text", [], True, {"a": "x" * 20_000}],
}


def assert_refused(answer: Answer, *fields: str) -> None:
    """A 422 response that names exactly these fields."""
    assert (answer.status, answer.code) == (422, "validation_failed"), answer
    assert set(answer.json["errors"]) == set(fields), answer
    assert all(sentences for sentences in answer.json["errors"].values())
