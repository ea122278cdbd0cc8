"""A reader of the event log over HTTP."""

from typing import Any

from tests.platform.client import Machine


class FeedReader:
    """An application that reads the feed from where it was created."""

    def __init__(self, machine: Machine, cursor: str) -> None:
        self.machine = machine
        self.cursor = cursor

    async def read(self, *types: str, wait: int = 10, size: int = 100) -> list[dict[str, Any]]:
        """Reads the next page; waits for an event if there is none yet."""
        params = {"page[after]": self.cursor, "page[size]": str(size), "wait": str(wait)}
        if types:
            params["filter[type_in]"] = ",".join(types)
        answer = await self.machine.get("/events", params)
        assert answer.status == 200, answer
        self.cursor = answer.json["meta"]["cursor"]
        events: list[dict[str, Any]] = answer.json["data"]
        return events

    async def read_about(self, *ids: str, until: str) -> list[dict[str, Any]]:
        """Reads until an event of this type about one of these records, and returns all events about them."""
        found: list[dict[str, Any]] = []
        while not any(event["type"] == until for event in found):
            page = await self.read()
            assert page, f"{until} does not come; so far {[event['type'] for event in found]}"
            found += [event for event in page if event["data"]["id"] in ids]
        return found


async def new_reader(machine: Machine) -> FeedReader:
    answer = await machine.get("/events", {"page[after]": "now"})
    assert answer.status == 200, answer
    return FeedReader(machine, answer.json["meta"]["cursor"])
