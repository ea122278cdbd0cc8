"""What a response must say that refuses a source for a while."""

import re

import httpx


def assert_limited(response: httpx.Response, name: str) -> None:
    """A 429 with its limits as structured fields (draft-ietf-httpapi-ratelimit-headers) and when to come again."""
    assert response.status_code == 429, response.text
    seconds = int(response.headers["retry-after"])
    policies = response.headers["ratelimit-policy"].split(", ")
    remaining = response.headers["ratelimit"].split(", ")
    assert seconds > 0
    assert all(re.fullmatch(rf'"{name}";q=[0-9]+;w=[0-9]+', policy) for policy in policies), policies
    assert remaining == [f'"{name}";r=0;t={seconds}'] * len(policies)
