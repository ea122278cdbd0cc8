"""All answers of the Platform API, for comparison."""

from typing import Any

from tests.platform.builders import ALL
from tests.platform.client import Machine
from tests.shopper import Answer

MOST = 25
_PER_PAGE = 50


async def read_answers(machine: Machine) -> dict[str, Any]:
    """Returns all lists of all resources, with all includes, and the first records alone."""
    answers: dict[str, Any] = {}
    for collection in ALL:
        include = ",".join(collection.resource.relations)
        params = {"include": include} if include else {}
        ids: list[str] = []
        path, page = f"/{collection.path}", 1
        while True:
            answer = await get_available(machine, path, {**params, "per_page": _PER_PAGE, "page": page})
            assert answer.status == 200, answer
            answers[f"{path}?page={page}"] = mask(answer.json, str(machine.http.base_url))
            ids += [record["id"] for record in answer.json["data"]]
            if page >= answer.json["meta"]["total_pages"]:
                break
            page += 1
        for record_id in ids[:MOST]:
            answer = await get_available(machine, f"{path}/{record_id}", params)
            answers[f"{path}/{record_id}"] = (answer.status, mask(answer.json, str(machine.http.base_url)))
    return answers


async def get_available(machine: Machine, path: str, params: dict[str, Any]) -> Answer:
    """Repeats a request while the shop is too busy to answer."""
    for _ in range(50):
        if (answer := await machine.get(path, params)).status != 503:
            break
    return answer


def mask(document: Any, base_url: str) -> Any:
    """Removes what may differ: the address of the shop, and when an application was last used."""
    match document:
        case dict():
            return {name: mask(value, base_url) for name, value in document.items() if name != "last_used_at"}
        case list():
            return [mask(value, base_url) for value in document]
        case str():
            return document.replace(base_url.rstrip("/"), "")
    return document


def list_differences(first: Any, second: Any, path: str = "") -> list[str]:
    """Returns where two documents differ, with both values."""
    if isinstance(first, dict) and isinstance(second, dict):
        names = [*first, *(name for name in second if name not in first)]
        return [
            each for name in names for each in list_differences(first.get(name), second.get(name), f"{path} {name}")
        ]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [each for index, pair in pairs for each in list_differences(*pair, f"{path} {index}")]
    return [] if first == second else [f"{path}: {first!r} != {second!r}"]
