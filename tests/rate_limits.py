"""The headers of a response to a source that is over a limit."""

import re

import httpx2


def assert_limited(response: httpx2.Response, name: str) -> None:
    """A 429 with `Retry-After`, and its limits as structured fields (draft-ietf-httpapi-ratelimit-headers)."""
    assert response.status_code == 429, response.text
    seconds = int(response.headers["retry-after"])
    policies = response.headers["ratelimit-policy"].split(", ")
    remaining = response.headers["ratelimit"].split(", ")
    assert seconds > 0
    assert all(re.fullmatch(rf'"{name}";q=[0-9]+;w=[0-9]+', policy) for policy in policies), policies
    assert remaining == [f'"{name}";r=0;t={seconds}'] * len(policies)
